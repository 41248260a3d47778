// SPDX-License-Identifier: GPL-2.0-or-later
/* Hosts that are asked what a message costs between them, and say it in their own way. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail

#include "helpers/common/companion.h"
#include "tools/common/common.h"
#include "tools/ehplan/links.h"
#include "tools/ehplan/probe.h"
#include "tools/ehplan/remote.h"

#define HOSTS 3
#define FASTER 20 /* than the clock: patience is over soon */
#define OVER_S 20 /* something is wrong */
#define PAUSE_US 5000

static const char *said[HOSTS]; /* again and again; NULL: its lines, and the end */
static bool stays; /* a host does not end when it has said all */

/* ---- what links.c calls ---- */

char *companion(const char *name, char *buf, size_t size)
{
	return strncpy(buf, name, size);
}

int probe_host(struct cluster_host *host, const char *view)
{
	return -EINVAL;
}

int remote_take_signal(int signals)
{
	return 0;
}

int fail(int code, const char *format, ...)
{
	return code;
}

void progress_show(const char *what, uint64_t done, uint64_t all)
{
}

double progress_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((double)t.tv_sec + (double)t.tv_nsec / 1e9) * FASTER;
}

pid_t remote_start(const struct cluster_host *host, const char *view, char *const *argv,
		   const struct remote_files *files)
{
	const char *text = said[host->name[1] - '0'];
	pid_t pid = fork();

	if (pid)
		return pid;
	setsid();
	alarm(OVER_S);
	for (int i = 2; argv[i] && !text; i++)
		if (write(files->out, "0.001 1e-8\n", 11) != 11)
			_exit(1);
	while (text && write(files->out, text, strlen(text)) > 0)
		usleep(PAUSE_US);
	close(files->out);
	while (stays)
		pause();
	_exit(0);
}

/* ---- tests ---- */

static void measure(struct assign_link *links)
{
	const struct cluster_host hosts[HOSTS] = { { .name = (char *)"n0" },
						   { .name = (char *)"n1" },
						   { .name = (char *)"n2" } };

	assert_int_equal(links_measure(hosts, HOSTS, -1, links), 0);
	for (int a = 0; a < HOSTS; a++)
		for (int b = a + 1; b < HOSTS; b++)
			assert_true(fabs(links[a * HOSTS + b].seconds - 0.001) < 1e-9);
}

static void test_honest(void **state)
{
	struct assign_link links[HOSTS * HOSTS];

	measure(links);
}

/* Bytes without a line, for ever: the others count. */
static void test_trickle(void **state)
{
	struct assign_link links[HOSTS * HOSTS];
	double began = progress_now();

	said[0] = "x";
	measure(links);
	said[0] = NULL;
	assert_true(progress_now() - began < OVER_S / 2 * FASTER);
}

static void test_stays(void **state)
{
	struct assign_link links[HOSTS * HOSTS];
	double began = progress_now();

	stays = true;
	measure(links);
	stays = false;
	assert_true(progress_now() - began < OVER_S / 2 * FASTER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_honest),
		cmocka_unit_test(test_trickle),
		cmocka_unit_test(test_stays),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
