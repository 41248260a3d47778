// SPDX-License-Identifier: GPL-2.0-or-later
/* Whom the ends of a job take for this host's agent. Root: each case has a network and a /run of its own. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent_socket.h"
#include "helpers/common/agent_address.h"
#include "helpers/end/hop.h"

#define LISTENER 2002
#define OTHER 2003
#define CASE_FAILED 250

static void failed_unless(bool good)
{
	if (!good)
		_exit(CASE_FAILED);
}

/* The directory as it is made, or was changed, by these; the socket in it stays. */
static void give(uid_t owner, mode_t mode)
{
	failed_unless(!mkdir(AGENT_FOLDER, 0755) || errno == EEXIST);
	failed_unless(!chmod(AGENT_FOLDER, mode) && !chown(AGENT_FOLDER, owner, owner));
}

/* A process of LISTENER listens on this socket: its pid. */
static pid_t listen_on(int fd)
{
	int ready[2];
	pid_t pid;
	char word;

	failed_unless(fd >= 0 && !pipe(ready));
	pid = fork();
	if (!pid) {
		/* who listens is who calls listen() last */
		if (setuid(LISTENER) || listen(fd, 8) || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(fd);
	close(ready[1]);
	failed_unless(read(ready[0], &word, 1) == 1);
	close(ready[0]);
	return pid;
}

static pid_t listen_there(void)
{
	return listen_on(agent_socket_listen(0));
}

/* By the name of before. */
static pid_t listen_earlier(void)
{
	struct sockaddr_un name;
	const socklen_t length = agent_address_earlier(&name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	failed_unless(!bind(fd, (struct sockaddr *)&name, length));
	return listen_on(fd);
}

/* A case: what hop_connect() says at its end, 0 for a socket. `play` starts who listens. */
static int played_by(int (*hop)(void), pid_t (*play)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		pid_t listener;
		int fd;

		failed_unless(!agent_socket_alone());
		listener = play();
		fd = hop();
		if (listener) {
			kill(listener, SIGKILL);
			waitpid(listener, NULL, 0);
		}
		failed_unless(fd < 0 || (fd > 2 && fcntl(fd, F_GETFD) == FD_CLOEXEC));
		_exit(fd < 0 ? -fd : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), CASE_FAILED);
	return WEXITSTATUS(status);
}

static int first(void)
{
	return hop_connect(NULL);
}

static int played(pid_t (*play)(void))
{
	return played_by(first, play);
}

static pid_t its_folder(void)
{
	pid_t pid = listen_there();

	give(LISTENER, 0755);
	return pid;
}

static pid_t roots_folder(void)
{
	return listen_there();
}

static pid_t open_folder(void)
{
	pid_t pid = listen_there();

	give(LISTENER, 0775);
	return pid;
}

static pid_t other_folder(void)
{
	pid_t pid = listen_there();

	give(OTHER, 0755);
	return pid;
}

/* Then this process sees another /run, as in a view: one of these. */
static void another_run(uid_t owner)
{
	failed_unless(!mount("run", "/run", "tmpfs", 0, "mode=755"));
	if (owner)
		give(owner, 0755);
}

static pid_t known_before(void)
{
	pid_t pid = other_folder();

	hop_know();
	another_run(LISTENER);
	return pid;
}

static pid_t nobody_before(void)
{
	pid_t pid;

	failed_unless(!rmdir(AGENT_FOLDER));
	hop_know();
	give(LISTENER, 0755);
	pid = listen_there();
	return pid;
}

static pid_t known_itself(void)
{
	pid_t pid = its_folder();

	hop_know();
	another_run(OTHER);
	return pid;
}

static pid_t known_alone(void)
{
	pid_t pid = its_folder();

	hop_know();
	another_run(0);
	return pid;
}

/* The next agent, which has replaced the file. */
static pid_t known_next(void)
{
	pid_t pid;

	give(LISTENER, 0755);
	hop_know();
	pid = listen_there();
	another_run(0);
	return pid;
}

static void test_folder(void **state)
{
	assert_int_equal(played(roots_folder), EPERM);
	assert_int_equal(played(its_folder), 0);
	assert_int_equal(played(open_folder), EPERM);
	assert_int_equal(played(other_folder), EPERM);
}

static void test_known(void **state)
{
	assert_int_equal(played(known_before), EPERM);
	assert_int_equal(played(nobody_before), ENOENT);
	assert_int_equal(played(known_itself), 0);
	assert_int_equal(played(known_alone), 0);
	assert_int_equal(played(known_next), 0);
}

static pid_t nobody(void)
{
	return 0;
}

static pid_t no_folder(void)
{
	failed_unless(!rmdir(AGENT_FOLDER));
	return 0;
}

/* A file that an agent has left. */
static pid_t left_behind(void)
{
	pid_t pid = its_folder();

	kill(pid, SIGKILL);
	failed_unless(waitpid(pid, NULL, 0) == pid);
	return 0;
}

/* The same files, seen from another network. */
static pid_t elsewhere(void)
{
	pid_t pid = its_folder();

	failed_unless(!unshare(CLONE_NEWNET));
	return pid;
}

static void test_nobody_listens(void **state)
{
	assert_int_equal(played(nobody), ECONNREFUSED);
	assert_int_equal(played(left_behind), ECONNREFUSED);
	assert_int_equal(played(elsewhere), ECONNREFUSED);
	assert_int_equal(played(no_folder), ENOENT);
}

static pid_t earlier_of_owner(void)
{
	give(LISTENER, 0755);
	return listen_earlier();
}

static pid_t earlier_of_other(void)
{
	give(OTHER, 0755);
	return listen_earlier();
}

static pid_t earlier_in_view(void)
{
	give(LISTENER, 0755);
	hop_know();
	another_run(OTHER);
	return listen_earlier();
}

static int again_here(void)
{
	bool earlier = true;
	int fd = hop_connect(&earlier);

	failed_unless(fd < 0 || !earlier);
	return fd;
}

static int again_earlier(void)
{
	bool earlier = false;
	int fd = hop_connect(&earlier);

	failed_unless(earlier);
	return fd;
}

/* What has begun already comes back to an agent of before, knows that it is one, and to nobody else by that name. */
static void test_earlier(void **state)
{
	assert_int_equal(played_by(again_earlier, earlier_of_owner), 0);
	assert_int_equal(played_by(again_earlier, earlier_of_other), EPERM);
	assert_int_equal(played_by(again_earlier, earlier_in_view), 0);
	assert_int_equal(played_by(again_here, its_folder), 0);
	assert_int_equal(played_by(again_earlier, nobody), ECONNREFUSED);
	assert_int_equal(played(earlier_of_owner), ECONNREFUSED);
}

/* Frames of any size, in pieces of any size: each is followed by a NUL, and none is lost or asked for twice. */
static void test_frames(void **state)
{
	enum { FRAMES = 40 };
	static struct hop h;
	static uint8_t all[FRAMES * (FRAME_HEADER + FRAME_LINK_MAX)];
	const uint8_t *payload;
	size_t size = 0, at;
	enum frame_type type;
	uint32_t length;
	int pair[2];

	for (uint32_t i = 0; i < FRAMES; i++) {
		const uint32_t n = i % 3 ? i : FRAME_LINK_MAX - i;

		frame_header(all + size, FRAME_LINK, n);
		memset(all + size + FRAME_HEADER, i + 1, n);
		size += FRAME_HEADER + n;
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	hop_open(&h, pair[0]);
	at = 0;
	for (uint32_t i = 0; i < FRAMES;) {
		ssize_t n = send(pair[1], all + at, size - at < 50001 ? size - at : 50001,
				 MSG_DONTWAIT);

		at += n > 0 ? n : 0;
		while (hop_read(&h, &type, &payload, &length) > 0) {
			assert_int_equal(type, FRAME_LINK);
			assert_int_equal(length, i % 3 ? i : FRAME_LINK_MAX - i);
			for (uint32_t j = 0; j < length; j++)
				assert_int_equal(payload[j], i + 1);
			assert_int_equal(payload[length], '\0');
			i++;
		}
		hop_spare(&h);
	}
	assert_int_equal(at, size);
	close(pair[1]);
	assert_int_equal(hop_read(&h, &type, &payload, &length), -EPIPE);
	hop_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),	cmocka_unit_test(test_folder),
		cmocka_unit_test(test_known),	cmocka_unit_test(test_nobody_listens),
		cmocka_unit_test(test_earlier),
	};

	if (geteuid()) {
		printf("1..0 # SKIP only root can be several users\n");
		return 4;
	}
	agent_socket_program();
	return cmocka_run_group_tests_name("hop", tests, NULL, NULL);
}
