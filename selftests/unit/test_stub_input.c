// SPDX-License-Identifier: GPL-2.0-or-later
/* build/bin/ehstub: input, which is taken when the program asks for it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "random.h"
#include "stub_home.h"
#include "temp.h"

static void test_on_demand(void **state)
{
	struct stub_home *h = stub_open();
	int in[2];

	stub_null(h, 3);
	stub_pipe(in);
	h->fds[0] = dup(in[0]);
	assert_int_equal(write(in[1], "1\n2\n3\n", 6), 6);
	stub_run(h, NULL, "7");
	UNTIL(h, h->offers[0]);
	assert_int_equal(h->length, 0);
	job_end_grant(&h->far, 0, 2);
	UNTIL(h, h->length == 2);
	assert_memory_equal(h->data, "1\n", 2);
	UNTIL(h, h->offers[0] == 2);
	stub_over(h, 0);
	assert_string_equal(stub_content(in[0]), "2\n3\n");
	close(in[0]);
	close(in[1]);
}

static void test_faster_reader(void **state)
{
	struct stub_home *h = stub_open();
	int in[2];

	stub_null(h, 3);
	stub_pipe(in);
	h->fds[0] = dup(in[0]);
	assert_int_equal(write(in[1], "x", 1), 1);
	stub_run(h, NULL, "7");
	UNTIL(h, h->offers[0] == 1);
	assert_string_equal(stub_content(in[0]), "x");
	job_end_grant(&h->far, 0, 10);
	UNTIL(h, h->nones[0] == 1);
	assert_int_equal(write(in[1], "yz", 2), 2);
	UNTIL(h, h->offers[0] == 2);
	job_end_grant(&h->far, 0, 10);
	UNTIL(h, h->length == 2);
	/* The end of a pipe takes nothing from anybody: it is told unasked. */
	close(in[1]);
	UNTIL(h, h->ends[0] == 1);
	assert_int_equal(h->offers[0], 2);
	stub_over(h, 0);
	close(in[0]);
}

/* A FIFO without writers may have one again before the program reads: its end is asked for. */
static void test_fifo_end(void **state)
{
	char path[TEMP_PATH];
	struct stub_home *h = stub_open();
	int write_end;

	assert_non_null(mkdtemp(temp_path(path, "stub-XXXXXX")));
	assert_return_code(chdir(path), errno);
	assert_return_code(mkfifo("fifo", 0600), errno);
	stub_null(h, 3);
	h->fds[0] = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	write_end = open("fifo", O_WRONLY | O_CLOEXEC);
	assert_true(h->fds[0] >= 0 && write_end >= 0);
	fcntl(h->fds[0], F_SETFL, 0);
	stub_run(h, NULL, "7");
	close(write_end);
	UNTIL(h, h->offers[0] == 1);
	assert_int_equal(h->ends[0], 0);
	write_end = open("fifo", O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(write_end, "late", 4), 4);
	job_end_grant(&h->far, 0, 10);
	UNTIL(h, h->length == 4);
	close(write_end);
	UNTIL(h, h->offers[0] == 2);
	job_end_grant(&h->far, 0, 10);
	UNTIL(h, h->ends[0] == 1);
	stub_over(h, 0);
	unlink("fifo");
	assert_return_code(chdir("/"), errno);
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_demand),
		cmocka_unit_test(test_faster_reader),
		cmocka_unit_test(test_fifo_end),
	};

	random_begin();
	stub_program();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
