// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that arguments name: which are found, when they are the same, and what is no such list. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "helpers/end/names.h"
#include "wire/frame.h"
#include "wire/named.h"
#include "temp.h"

static char folder[TEMP_PATH];

static const char *in_folder(const char *name)
{
	static char path[8][TEMP_PATH + 64];
	static unsigned int i;
	char *at = path[i++ % 8];

	snprintf(at, sizeof(path[0]), "%s/%s", folder, name);
	return at;
}

static const char *make_file(const char *name, const char *text)
{
	const char *path = in_folder(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	return path;
}

struct list {
	uint8_t *payload;
	size_t length;
	const char *path;
};

static void make(struct list *l, const char **argv)
{
	l->payload = malloc(FRAME_NAMED_MAX);
	l->path = NULL;
	assert_non_null(l->payload);
	l->length = names_make((char *const *)argv, l->payload);
	assert_true(l->length <= FRAME_NAMED_MAX);
	/* its own size, for the sanitizers */
	l->payload = realloc(l->payload, l->length ?: 1);
	assert_non_null(l->payload);
}

#define MAKE(l, ...) make(l, (const char *[]){ "/bin/true", __VA_ARGS__, NULL })

/* As the two agents and the executor's end do. */
static int check(struct list *l)
{
	int err = named_check(l->payload, l->length, &l->path);

	return err ? err : names_compare(l->payload, l->length, &l->path);
}

/* The number of entries, and that the last one is of this path. */
static unsigned int entries(const struct list *l, const char *last)
{
	const uint8_t *at = l->payload, *end = at + l->length;
	const char *path = NULL;
	unsigned int n = 0;

	for (; at < end; n++) {
		path = (const char *)at + 20;
		at += 20 + strlen(path) + 1;
	}
	if (last)
		assert_string_equal(path, last);
	return n;
}

static void test_found(void **state)
{
	const char *file = make_file("found", "1");
	static const char *const forms[] = { "%s",  "-I%s", "--name=%s", "if=%s",
					     "@%s", "a:%s", "-Wl,%s" };
	struct list l;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char argument[300];

		snprintf(argument, sizeof(argument), forms[i], file);
		MAKE(&l, argument);
		assert_int_equal(entries(&l, file), 1);
		assert_int_equal(check(&l), 0);
		free(l.payload);
	}
	/* the program itself is compared otherwise; the rest is the directory's, or nowhere */
	MAKE(&l, "found", "./found", "a/found", "-c", "", in_folder("not there"));
	assert_int_equal(l.length, 0);
	assert_int_equal(check(&l), 0);
	free(l.payload);
}

static void test_differs(void **state)
{
	const char *file = make_file("differs", "1"), *dir = in_folder("dir");
	struct timespec times[2];
	struct stat st;
	struct list l;

	assert_int_equal(mkdir(dir, 0700), 0);
	MAKE(&l, "/dev/null", dir, file);
	assert_int_equal(entries(&l, file), 3);
	assert_int_equal(stat(file, &st), 0);
	/* what is in a directory is not looked at, nor who may read it */
	make_file("dir/new", "");
	assert_int_equal(chmod(file, 0600), 0);
	assert_int_equal(check(&l), 0);

	make_file("differs", "12");
	times[0] = times[1] = st.st_mtim;
	assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
	assert_int_equal(check(&l), -EXDEV); /* its size */
	assert_string_equal(l.path, file);
	make_file("differs", "2");
	times[1].tv_nsec ^= 1;
	assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
	assert_int_equal(check(&l), -EXDEV); /* its time, to the nanosecond */
	times[1] = st.st_mtim;
	assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
	assert_int_equal(check(&l), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(check(&l), -EXDEV);
	assert_int_equal(mkdir(file, 0700), 0);
	assert_int_equal(check(&l), -EXDEV); /* its type */
	assert_string_equal(l.path, file);
	free(l.payload);
}

static void test_pipes(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *file = make_file("plain", "1"), *fifo = in_folder("fifo");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct list l;

	assert_int_equal(mkfifo(fifo, 0600), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	MAKE(&l, fifo);
	assert_int_equal(check(&l), -EXDEV);
	assert_string_equal(l.path, fifo);
	free(l.payload);
	/* behind another file */
	MAKE(&l, file, "-o", address.sun_path);
	assert_int_equal(check(&l), -EXDEV);
	assert_string_equal(l.path, address.sun_path);
	free(l.payload);
	close(fd);
	/* one that replaces a file is not the same */
	MAKE(&l, file);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rename(fifo, file), 0);
	assert_int_equal(check(&l), -EXDEV);
	free(l.payload);
}

static void test_bounds(void **state)
{
	static char argument[4096 + 8];
	const char *argv[1002] = { "/bin/true" };
	struct list l;

	for (int i = 1; i <= 1000; i++)
		argv[i] = "/dev/null";
	make(&l, argv);
	assert_int_equal(entries(&l, "/dev/null"), 128);
	free(l.payload);
	/* as long as a path may be: they do not all fit into a frame */
	memset(argument, '/', sizeof(argument));
	memcpy(argument + 4096 - 9, "dev/null", 9);
	for (int i = 1; i <= 1000; i++)
		argv[i] = argument;
	make(&l, argv);
	assert_true(l.length <= frame_limit(FRAME_NAMED));
	assert_int_equal(entries(&l, argument), frame_limit(FRAME_NAMED) / (20 + 4096));
	assert_int_equal(check(&l), 0);
	free(l.payload);
	/* and longer than that: nobody can open it */
	memset(argument, '/', sizeof(argument));
	strcpy(argument + 4096 - 8, "dev/null");
	MAKE(&l, argument);
	assert_int_equal(l.length, 0);
	free(l.payload);
}

static void test_malformed(void **state)
{
	struct list l, cut;
	const char *path;

	/* none was given */
	assert_int_equal(named_check(NULL, 0, &path), 0);
	assert_null(path);
	MAKE(&l, "/dev/null", "/dev");
	for (size_t n = 1; n <= l.length; n++) {
		bool whole = n == l.length || n == 20 + sizeof("/dev/null");

		/* its own copy, for the sanitizers */
		cut = (struct list){ .payload = malloc(n), .length = n };
		assert_non_null(cut.payload);
		memcpy(cut.payload, l.payload, n);
		assert_int_equal(check(&cut), whole ? 0 : -EBADMSG);
		free(cut.payload);
	}
	l.payload[20] = 'd'; /* not absolute */
	assert_int_equal(check(&l), -EBADMSG);
	l.payload[20] = '\0';
	assert_int_equal(check(&l), -EBADMSG);
	free(l.payload);
}

static int begin(void **state)
{
	return mkdtemp(temp_path(folder, "named-XXXXXX")) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int end(void **state)
{
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),	  cmocka_unit_test(test_differs),
		cmocka_unit_test(test_pipes),	  cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
