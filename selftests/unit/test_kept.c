// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Home's side of a view, as ehlaunch starts it: this process is its agent, and the executor's side at once.
 * Connections break at any moment, agents go and come: all is written once, read as it is, and locks hold;
 * and it ends when it must. EHS_SEED=N repeats a run.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_socket.h"
#include "base/clock.h"
#include "job/keeper.h"
#include "kept_sides.h"
#include "random.h"
#include "temp.h"
#include "wire/launch.h"

static void path_of(char *path, const char *name)
{
	snprintf(path, PATH_MAX, "%s/%s", sides.folder, name);
}

static void create(uint32_t handle, const char *name, uint32_t flags)
{
	struct files_message *m = sides_message(FILES_CREATE);

	m->dir = FILES_ROOT;
	m->handle2 = handle;
	m->flags = flags;
	m->mode = 0600;
	strcpy(m->name, name);
	sides_say(m);
}

static void check_content(const char *name)
{
	static uint8_t bytes[PIECE];
	char path[PATH_MAX];
	uint64_t at = 0;
	FILE *f;
	size_t n;

	path_of(path, name);
	f = fopen(path, "re");
	assert_non_null(f);
	while ((n = fread(bytes, 1, sizeof(bytes), f)))
		for (size_t i = 0; i < n; i++, at++)
			assert_int_equal(bytes[i], sides_pattern(at));
	fclose(f);
	assert_int_equal(at, (uint64_t)PIECE * PIECES);
}

static void check_log(const char *name, unsigned int lines)
{
	char path[PATH_MAX];
	unsigned int n = 0, line;
	FILE *f;

	path_of(path, name);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fscanf(f, "%u\n", &line) == 1)
		assert_int_equal(line, n++);
	fclose(f);
	assert_int_equal(n, lines);
}

static bool is_locked(const char *name)
{
	char path[PATH_MAX];
	int fd, err;

	path_of(path, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	err = flock(fd, LOCK_EX | LOCK_NB) ? errno : 0;
	close(fd);
	assert_true(!err || err == EWOULDBLOCK);
	return err;
}

static void write_piece(uint32_t handle, unsigned int number)
{
	static uint8_t bytes[PIECE];
	struct files_message *m = sides_message(FILES_WRITE);

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = sides_pattern((uint64_t)number * PIECE + i);
	m->handle = handle;
	m->offset = (uint64_t)number * PIECE;
	m->data = bytes;
	m->length = sizeof(bytes);
	sides_say(m);
}

static void write_line(uint32_t handle, unsigned int number)
{
	struct files_message *m = sides_message(FILES_WRITE);
	char text[16];

	m->handle = handle;
	m->length = snprintf(text, sizeof(text), "%u\n", number);
	m->data = (uint8_t *)text;
	sides_say(m);
}

static void flush(uint32_t handle)
{
	struct files_message *m = sides_message(FILES_FSYNC);

	m->handle = handle;
	sides_say(m);
}

static void write_all(const struct side *s, uint32_t handle, unsigned int one_in)
{
	for (unsigned int i = 0; i < PIECES; i++) {
		write_piece(handle, i);
		write_line(handle + 1, i);
		for (int n = random_below(4); n > 0; n--)
			sides_run(s, one_in);
	}
	flush(handle);
	flush(handle + 1);
}

static void test_breaks(void **state)
{
	struct files_message *m;
	struct side s;

	sides_serve(&s, WAIT_MS);
	create(1, "large", O_RDWR);
	create(2, "log", O_WRONLY | O_APPEND);
	write_all(&s, 1, 12);
	sides_run_all(&s, 30);
	assert_int_equal(sides.last_error, 0);
	check_content("large");
	check_log("log", PIECES);
	/* More is asked for than home keeps: it takes no more meanwhile, and goes on. */
	for (unsigned int i = 0; i < PIECES; i++) {
		m = sides_message(FILES_READ);
		m->handle = 1;
		m->offset = sides.read_bytes + (uint64_t)i * PIECE;
		m->size = PIECE;
		assert_int_equal(stream_put(&sides.view, m), 0);
	}
	stream_flush(&sides.view);
	sides_run_all(&s, 40);
	assert_int_equal(sides.read_bytes, (uint64_t)PIECE * PIECES);
	printf("# %lu breaks\n", sides.breaks);
	assert_true(sides.breaks > 10);
	keeper_say(s.news, LAUNCH_OVER);
	assert_int_equal(sides_hear(&s), -1);
	sides_agent_ends(&s);
}

static void test_agents(void **state)
{
	struct files_message *m;
	struct side s;

	sides_serve(&s, WAIT_MS);
	create(1, "large", O_RDWR | O_TRUNC);
	create(2, "log2", O_WRONLY | O_APPEND);
	create(3, "lock", O_RDWR);
	m = sides_message(FILES_FLOCK);
	m->handle = 3;
	m->mode = LOCK_EX;
	sides_say(m);
	sides_run_all(NULL, 0);
	assert_int_equal(sides.last_error, 0);
	assert_true(is_locked("lock"));
	for (int i = 0; i < 3; i++) {
		write_piece(1, i);
		write_line(2, i);
		for (int n = random_below(6); n > 0; n--)
			sides_run(NULL, 0);
		/* the first time somebody listens, later the next agent comes late */
		if (!i)
			sides_listen();
		sides_agent_ends(&s);
		write_piece(1, i);
		if (i)
			sides_listen();
		sides_adopt(&s);
		assert_true(is_locked("lock"));
		sides_reconnect(&s);
		sides_listen_no_more();
	}
	for (unsigned int i = 3; i < PIECES; i++) {
		write_piece(1, i);
		write_line(2, i);
		sides_run(&s, 20);
	}
	flush(1);
	flush(2);
	sides_run_all(&s, 30);
	check_content("large");
	check_log("log2", PIECES);
	assert_true(is_locked("lock"));
	keeper_say(s.news, LAUNCH_OVER);
	assert_int_equal(sides_hear(&s), -1);
	sides_agent_ends(&s);
	for (const uint64_t end = clock_ms() + WAIT_MS; is_locked("lock") && clock_ms() < end;)
		poll(NULL, 0, 5);
	assert_false(is_locked("lock"));
}

static void lock_and_leave(struct side *s, uint32_t limit_ms)
{
	struct files_message *m;

	sides_serve(s, limit_ms);
	create(3, "lock", O_RDWR);
	m = sides_message(FILES_FLOCK);
	m->handle = 3;
	m->mode = LOCK_EX;
	sides_say(m);
	sides_run_all(NULL, 0);
	assert_true(is_locked("lock"));
}

static void expect_end(void)
{
	for (const uint64_t end = clock_ms() + WAIT_MS; is_locked("lock") && clock_ms() < end;)
		poll(NULL, 0, 5);
	assert_false(is_locked("lock"));
}

/* No agent comes. */
static void test_limit(void **state)
{
	struct side s;

	lock_and_leave(&s, 200);
	sides_agent_ends(&s);
	expect_end();
}

/* Agents come, and do not want it: that does not prolong its life. */
static void test_refused(void **state)
{
	const uint64_t end = clock_ms() + WAIT_MS;
	unsigned int came = 0;
	struct side s;
	int fd;

	lock_and_leave(&s, 3000); /* long enough for a loaded machine to come twice */
	sides_listen();
	fcntl(sides.listener, F_SETFL, O_NONBLOCK);
	sides_agent_ends(&s);
	while (is_locked("lock") && clock_ms() < end) {
		fd = accept4(sides.listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0) {
			came++;
			close(fd);
		}
		poll(NULL, 0, 2);
	}
	assert_false(is_locked("lock"));
	assert_true(came >= 2);
	sides_listen_no_more();
}

static int begin(void **state)
{
	char name[TEMP_PATH];

	signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(temp_path(name, "kept-XXXXXX")))
		return -1;
	strcpy(sides.folder, name);
	sides.base = event_base_new();
	sides_start_launcher();
	return sides.base ? 0 : -1;
}

static int finish(void **state)
{
	static const char *const names[] = { "large", "log", "log2", "lock" };
	char path[PATH_MAX];

	sides_forget_view();
	close(sides.launcher);
	waitpid(sides.ehlaunch_pid, NULL, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		path_of(path, names[i]);
		unlink(path);
	}
	return rmdir(sides.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_breaks),
		cmocka_unit_test(test_agents),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_refused),
	};

	random_begin();
	/* Root, or a user in a user namespace of its own; alone with the agent's name. */
	agent_socket_program();
	return cmocka_run_group_tests(tests, begin, finish);
}
