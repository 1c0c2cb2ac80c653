/* Can the compiler link libFuzzer? */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return data == NULL && size > 0;
}
