#!/bin/bash
# style.sh: the code is as clang-format and clang-tidy want it.
. "$PROJECT/tests/tap.sh"
cd "$PROJECT" || exit 1
if command -v clang-format >/dev/null; then
	ok 'clang-format' clang-format --dry-run -Werror shim/*.c shim/*/*.[ch] tools/fastalloc/*.[ch] tests/*.c tests/*/*.c
else
	skip clang-format 'not installed'
fi
if command -v clang-tidy >/dev/null; then
	is 'clang-tidy' '' "$(clang-tidy -p "$BUILD" --quiet shim/*.c shim/*/*.c \
		tools/fastalloc/*.c 2>/dev/null)"
else
	skip clang-tidy 'not installed'
fi
finish
