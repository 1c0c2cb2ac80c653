# caller.sh: a program one of whose libraries opens another, which only that one's RUNPATH leads to. Source it.
# shellcheck shell=bash

# make_caller: by "${CC[@]}", $W/caller/program, which prints whether the other is found
make_caller() {
	mkdir -p "$W/caller/near"
	echo 'int near(void) { return 7; }' | "${CC[@]}" -shared -fPIC -o "$W/caller/near/libnear.so" -x c -
	echo '#include <dlfcn.h>
void *find(void);
void *find(void) { return dlopen("libnear.so", RTLD_NOW); }' |
		"${CC[@]}" -shared -fPIC -Wl,-rpath,"\$ORIGIN/near" -o "$W/caller/libcaller.so" -x c -
	echo '#include <stdio.h>
void *find(void);
int main(void) { return printf("%s\n", find() ? "found" : "none") < 0; }' |
		"${CC[@]}" -o "$W/caller/program" -x c - -L"$W/caller" -lcaller -Wl,-rpath,"$W/caller"
}
