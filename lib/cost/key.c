// SPDX-License-Identifier: GPL-2.0-or-later
#include "cost/key.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define KEY_BASIS 0xcbf29ce484222325u
#define KEY_WORDS 64 /* longer command lines are taken as equal behind that */

enum key_kind { KEY_PLAIN, KEY_FIRST, KEY_ALL };

/* Without a version behind the name. */
static const char *const key_first[] = {
	"sh",	  "ash",    "bash",  "dash",	"ksh",	   "mksh",   "rbash",  "zsh",	  "fish",
	"csh",	  "tcsh",   "awk",   "gawk",	"mawk",	   "bc",     "perl",   "php",	  "lua",
	"luajit", "python", "pypy",  "ruby",	"node",	   "nodejs", "java",   "Rscript", "tclsh",
	"guile",  "julia",  "ocaml", "octave",	"git",	   "make",   "gmake",  "ninja",	  "cmake",
	"cargo",  "go",	    "npm",   "busybox", "openssl", "docker", "podman", "meson",
};

static const char *const key_all[] = {
	"env",	   "nice",    "ionice",	  "chrt",    "taskset", "nohup",    "setsid",
	"stdbuf",  "timeout", "time",	  "xargs",   "flock",	"parallel", "sleep",
	"runuser", "setpriv", "chroot",	  "prlimit", "unshare", "nsenter",  "strace",
	"ltrace",  "gdb",     "valgrind", "perf",    "ehctl",	"ehrsh",    "ld.so",
};

static bool key_in(const char *name, size_t length, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == length && !strncmp(list[i], name, length))
			return true;
	return false;
}

/* FNV-1a, with the NUL, so that words keep apart. */
static uint64_t key_add(uint64_t hash, const char *word)
{
	do
		hash = (hash ^ (unsigned char)*word) * 0x100000001b3u;
	while (*word++);
	return hash;
}

uint64_t cost_host_name(const char *host)
{
	return key_add(KEY_BASIS, host) ?: 1;
}

static enum key_kind key_kind(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(name), bare = length;

	/* As in python3.11. */
	while (bare && strchr("0123456789.-", name[bare - 1]))
		bare--;
	if (key_in(name, length, key_all, sizeof(key_all) / sizeof(*key_all)) ||
	    !strncmp(name, "ld-linux", 8))
		return KEY_ALL;
	if (key_in(name, bare, key_first, sizeof(key_first) / sizeof(*key_first)))
		return KEY_FIRST;
	return KEY_PLAIN;
}

static bool key_ends_at(const char *word)
{
	return *word && *word != '-' && *word != '+' && !strchr(word, '=');
}

uint64_t cost_key(const char *path, const char *const *argv)
{
	uint64_t hash = key_add(KEY_BASIS, path);
	const enum key_kind kind = key_kind(path);

	if (kind != KEY_PLAIN && !argv)
		return 0;
	if (kind != KEY_PLAIN && argv[0]) {
		for (size_t i = 1; argv[i] && i <= KEY_WORDS; i++) {
			hash = key_add(hash, argv[i]);
			if (kind == KEY_FIRST && key_ends_at(argv[i]))
				break;
		}
	}
	return hash ?: 1;
}
