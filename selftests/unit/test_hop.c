// SPDX-License-Identifier: GPL-2.0-or-later
/* Whom the ends of a job take for this host's agent. Root: each case has a network and a /run of its own. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "helpers/common/trust.h"
#include "helpers/end/hop.h"

#define LISTENER 2002
#define OTHER 2003
#define CASE_FAILED 250

static void give(uid_t owner, mode_t mode)
{
	if (rmdir(TRUST_FOLDER) && errno != ENOENT)
		_exit(CASE_FAILED);
	if (mkdir(TRUST_FOLDER, 0755) || chmod(TRUST_FOLDER, mode) ||
	    chown(TRUST_FOLDER, owner, owner))
		_exit(CASE_FAILED);
}

/* LISTENER takes the agent's name: its pid. */
static pid_t listen_there(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), ready[2];
	pid_t pid;
	char word;

	memcpy(a.sun_path + 1, AGENT_SOCKET, sizeof(AGENT_SOCKET) - 1);
	if (fd < 0 || pipe(ready))
		_exit(CASE_FAILED);
	pid = fork();
	if (!pid) {
		if (setuid(LISTENER) ||
		    bind(fd, (struct sockaddr *)&a,
			 offsetof(struct sockaddr_un, sun_path) + sizeof(AGENT_SOCKET)) ||
		    listen(fd, 8) || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &word, 1) != 1)
		_exit(CASE_FAILED);
	return pid;
}

/* A case: what hop_connect() says at its end, 0 for a socket. */
static int played(void (*play)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		pid_t listener;
		int fd;

		if (unshare(CLONE_NEWNS | CLONE_NEWNET) ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("tmpfs", "/run", "tmpfs", 0, NULL))
			_exit(CASE_FAILED);
		listener = listen_there();
		play();
		fd = hop_connect();
		kill(listener, SIGKILL);
		waitpid(listener, NULL, 0);
		_exit(fd < 0 ? -fd : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), CASE_FAILED);
	return WEXITSTATUS(status);
}

static void no_folder(void)
{
}

static void its_folder(void)
{
	give(LISTENER, 0755);
}

static void open_folder(void)
{
	give(LISTENER, 0775);
}

static void other_folder(void)
{
	give(OTHER, 0755);
}

/* As in a view, whose /run says something else than this host's did. */
static void known_before(void)
{
	give(OTHER, 0755);
	hop_know();
	give(LISTENER, 0755);
}

static void nobody_before(void)
{
	hop_know();
	give(LISTENER, 0755);
}

static void known_itself(void)
{
	give(LISTENER, 0755);
	hop_know();
	give(OTHER, 0755);
}

static void test_folder(void **state)
{
	assert_int_equal(played(no_folder), EPERM);
	assert_int_equal(played(its_folder), 0);
	assert_int_equal(played(open_folder), EPERM);
	assert_int_equal(played(other_folder), EPERM);
}

static void test_known(void **state)
{
	assert_int_equal(played(known_before), EPERM);
	assert_int_equal(played(nobody_before), EPERM);
	assert_int_equal(played(known_itself), 0);
}

static void test_nobody_listens(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(unshare(CLONE_NEWNET) ? CASE_FAILED : -hop_connect());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), ECONNREFUSED);
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
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_nobody_listens),
	};

	return cmocka_run_group_tests_name("hop", tests, NULL, NULL);
}
