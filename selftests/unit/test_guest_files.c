// SPDX-License-Identifier: GPL-2.0-or-later
/* Open files of a program beside descriptors 0 to 2, and files that it has itself. */
#include <linux/ehsched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "guest_home.h"
#include "temp.h"

#define FIRST JOB_CHANNEL_FILES

static struct job_file files[JOB_FILES_MAX];
static struct job_descriptor descriptors[JOB_DESCRIPTORS_MAX];
static uint32_t nfiles, ndescriptors;
static char place[128], path[TEMP_PATH];

static void files_none(void)
{
	nfiles = ndescriptors = 0;
}

static uint32_t files_add(uint32_t kind, uint32_t flags)
{
	files[nfiles] = (struct job_file){ .kind = kind, .flags = flags, .place = "", .path = "" };
	return FIRST + nfiles++;
}

static void files_descriptor(uint32_t number, uint32_t channel)
{
	descriptors[ndescriptors++] = (struct job_descriptor){ number, channel };
}

static struct home *files_run(uint32_t flags, const char *script)
{
	const char *argv[] = { "/bin/bash", "-c", script, NULL };
	struct job_spec spec = home_spec(flags, argv);
	struct home *h = home_new();

	spec.nfiles = nfiles;
	spec.files = files;
	spec.ndescriptors = ndescriptors;
	spec.descriptors = descriptors;
	home_run_spec(h, &spec);
	return h;
}

static void files_end(struct home *h)
{
	assert_int_equal(home_end(h), 0);
	home_free(h);
}

/* Gives `text` on this channel, as the program asks for it, and then its end. */
static void files_give(struct home *h, uint32_t channel, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		size_t room;

		home_offer(h, channel, false);
		home_until(h, (room = job_end_room(&h->end, channel)));
		if (room > left)
			room = left;
		job_end_send(&h->end, channel, (const uint8_t *)text, room, false);
		text += room;
		left -= room;
	}
	home_say(h, (struct job_message){ .what = JOB_END, .channel = channel });
}

/* A file of this host with some content, open at home, too. */
static int files_make(const char *text)
{
	int boot = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char id[37] = "";
	struct stat st;
	int fd;

	fd = mkstemp(temp_path(path, "files.XXXXXX"));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(read(boot, id, 36), 36);
	close(boot);
	assert_int_equal(fstat(fd, &st), 0);
	snprintf(place, sizeof(place), "local %s %u:%u", id, major(st.st_dev), minor(st.st_dev));
	return fd;
}

static uint32_t files_add_real(int fd, uint32_t flags, uint64_t offset)
{
	uint32_t channel = files_add(JOB_REAL, flags);
	struct job_file *f = &files[channel - FIRST];
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	f->ino = st.st_ino;
	f->place = place;
	f->path = path;
	f->offset = offset;
	return channel;
}

static const char *files_content(void)
{
	static char text[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* ---- streams ---- */

static void test_pipes(void **state)
{
	struct home *h;
	uint32_t in, out;

	files_none();
	in = files_add(JOB_STREAM, JOB_OPEN_READ);
	out = files_add(JOB_STREAM, JOB_OPEN_WRITE);
	files_descriptor(3, out);
	files_descriptor(6, 1);
	files_descriptor(9, in);
	files_descriptor(63, in);
	h = files_run(PIPES,
		      "read a <&9; read b </dev/fd/63; cat /proc/self/fd/9;"
		      "echo $a$b >&3; echo six >&6; echo name >/dev/fd/3;"
		      "ls -v /proc/$$/fd; true"); /* no pipeline: its shell may have the pipe */
	home_until(h, home_has(h, "started"));
	files_give(h, in, "one\ntwo\nthree\n");
	assert_int_equal(home_end(h), 0);
	assert_string_equal(home_got(h, 1), "three\nsix\n0\n1\n2\n3\n6\n9\n63\n");
	assert_string_equal(home_got(h, out), "onetwo\nname\n");
	assert_int_equal(h->read[in], 14);
	assert_true(h->ended[out]);
	home_free(h);
}

/* As many as there may be, at numbers that ehguest itself uses. */
static void test_many(void **state)
{
	struct home *h;
	char text[16];

	files_none();
	for (uint32_t i = 0; i < JOB_FILES_MAX; i++)
		files_descriptor(3 + i, files_add(JOB_STREAM, JOB_OPEN_WRITE));
	h = files_run(PIPES, "for i in {3..34}; do echo $i >&$i; done");
	assert_int_equal(home_end(h), 0);
	assert_string_equal(home_got(h, 2), "");
	for (uint32_t i = 0; i < JOB_FILES_MAX; i++) {
		snprintf(text, sizeof(text), "%u\n", 3 + i);
		assert_string_equal(home_got(h, FIRST + i), text);
		assert_true(h->ended[FIRST + i]);
	}
	home_free(h);
}

/* Each side is told when the other has closed its end. */
static void test_closed(void **state)
{
	struct home *h;
	uint32_t in, out;

	files_none();
	in = files_add(JOB_STREAM, JOB_OPEN_READ);
	out = files_add(JOB_STREAM, JOB_OPEN_WRITE);
	files_descriptor(4, in);
	files_descriptor(5, out);
	h = files_run(PIPES, "exec 4<&-; trap '' PIPE; read x; echo y >&5 || echo $?");
	home_until(h, h->closed[in]);
	home_say(h, (struct job_message){ .what = JOB_CLOSED, .channel = out });
	home_offer(h, 0, false);
	home_until(h, job_end_room(&h->end, 0));
	job_end_send(&h->end, 0, (const uint8_t *)"\n", 1, false);
	home_until(h, home_has(h, "exit"));
	assert_string_equal(home_got(h, 1), "1\n");
	files_end(h);
}

/* A task that expects EAGAIN gets it, and the others wait. */
static void test_nonblocking(void **state)
{
	struct home *h;
	uint32_t in;

	files_none();
	in = files_add(JOB_STREAM, JOB_OPEN_READ | JOB_OPEN_NONBLOCK);
	files_descriptor(7, in);
	h = files_run(PIPES, "dd bs=1 count=1 <&7 2>&1 | grep -o 'Resource temp.*'");
	home_until(h, home_has(h, "exit"));
	assert_string_equal(home_got(h, 1), "Resource temporarily unavailable\n");
	files_end(h);
}

/* Both directions; home's end of file leaves the other one open. */
static void test_socket(void **state)
{
	static const struct {
		uint32_t kind;
	} cases[] = { { JOB_SOCKET }, { JOB_STREAM } };

	for (int i = 0; i < 2; i++) {
		struct home *h;
		uint32_t both;

		files_none();
		both = files_add(cases[i].kind, JOB_OPEN_READ | JOB_OPEN_WRITE);
		files_descriptor(8, both);
		h = files_run(PIPES,
			      "echo question >&8; read answer <&8; cat <&8; echo \"$answer\" >&8");
		home_until(h, !strcmp(home_got(h, both), "question\n"));
		files_give(h, both, "the answer\n");
		files_end(h);
	}
}

static void test_socket_bytes(void **state)
{
	struct home *h;
	uint32_t both;

	files_none();
	both = files_add(JOB_SOCKET, JOB_OPEN_READ | JOB_OPEN_WRITE);
	files_descriptor(8, both);
	h = files_run(PIPES, "read a <&8; echo got $a >&8; exec 8>&-; kill -STOP $$");
	home_until(h, home_has(h, "started"));
	home_offer(h, both, false);
	home_until(h, job_end_room(&h->end, both));
	job_end_send(&h->end, both, (const uint8_t *)"x", 1, false);
	home_offer(h, both, false);
	home_until(h, job_end_room(&h->end, both) == 1);
	job_end_send(&h->end, both, (const uint8_t *)"\n", 1, false);
	/* It closes all of it. */
	home_until(h, h->ended[both] && h->closed[both]);
	assert_string_equal(home_got(h, both), "got x\n");
	home_until(h, h->stops);
	assert_int_equal(h->read[both], 2);
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGCONT, true } });
	files_end(h);
}

/* A program that waits for a token in select() is given one; one that reads many is given what it reads. */
static void test_tokens(void **state)
{
	struct home *h;
	uint32_t in;

	files_none();
	in = files_add(JOB_STREAM, JOB_OPEN_READ | JOB_OPEN_TOKENS);
	files_descriptor(3, in);
	h = files_run(PIPES, "read -t 1000 -N 1 t <&3; kill -STOP $$");
	home_until(h, home_has(h, "started"));
	home_offer(h, in, false);
	home_until(h, job_end_room(&h->end, in));
	assert_int_equal(job_end_room(&h->end, in), 1);
	job_end_send(&h->end, in, (const uint8_t *)"+", 1, false);
	home_until(h, h->stops);
	assert_int_equal(h->read[in], 1);
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGCONT, true } });
	files_end(h);
}

/* ---- files ---- */

static void test_offset(void **state)
{
	int fd = files_make("0123456789");
	struct home *h;
	uint32_t in;

	files_none();
	in = files_add_real(fd, JOB_OPEN_READ | JOB_OPEN_OR_STREAM, 2);
	files_descriptor(0, in);
	h = files_run(JOB_FD(1) | JOB_FD(2),
		      "dd bs=3 count=1 status=none; kill -STOP $$; dd bs=2 count=1 status=none");
	home_until(h, h->stops);
	assert_true(h->opened[in]);
	assert_int_equal(h->offsets[in], 5);
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGCONT, true } });
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->offsets[in], 7);
	assert_string_equal(home_got(h, 1), "23456");
	files_end(h);
	unlink(path);
	close(fd);
}

static void test_append(void **state)
{
	int fd = files_make("old\n");
	struct home *h;
	uint32_t out;

	files_none();
	out = files_add_real(fd, JOB_OPEN_WRITE | JOB_OPEN_APPEND, 0);
	files_descriptor(1, out);
	files_descriptor(5, out);
	h = files_run(JOB_FD(0) | JOB_FD(2), "echo new; echo five >&5; seek() { dd bs=1 seek=1 "
					     "conv=notrunc status=none; }; echo end | seek");
	home_until(h, home_has(h, "exit"));
	assert_string_equal(files_content(), "old\nnew\nfive\nend\n");
	assert_int_equal(h->offsets[out], 17);
	files_end(h);
	unlink(path);
	close(fd);
}

/* Another file, or one that cannot be the same: bytes where they do, else nothing starts. */
static void test_another(void **state)
{
	for (int i = 0; i < 5; i++) {
		int fd = files_make("text\n");
		const bool streams = i & 1;
		struct home *h;
		uint32_t in;

		files_none();
		in = files_add_real(fd, JOB_OPEN_READ | (streams ? JOB_OPEN_OR_STREAM : 0), 0);
		if (i < 2)
			files[0].ino++;
		else if (i < 4)
			files[0].place = "nfs4 server:/path";
		else
			files[0].path = "/nonexistent/file";
		files_descriptor(0, in);
		h = files_run(JOB_FD(1) | JOB_FD(2), "cat");
		if (streams) {
			home_until(h, home_has(h, "started"));
			assert_false(h->opened[in]);
			files_give(h, in, "carried\n");
			home_until(h, home_has(h, "exit"));
			assert_string_equal(home_got(h, 1), "carried\n");
		} else {
			home_until(h, home_has(h, "refused"));
			assert_int_equal(h->reason, EHS_REASON_FILES_DIFFER);
		}
		files_end(h);
		unlink(path);
		close(fd);
	}
}

/* The program leaves a lock: it is free here, and home knows which. */
static void test_lock(void **state)
{
	int fd = files_make(""), mine = -1;
	struct home *h;
	uint32_t lock;

	files_none();
	lock = files_add_real(fd, JOB_OPEN_WRITE | JOB_OPEN_APPEND, 0);
	files_descriptor(9, lock);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	h = files_run(PIPES, "flock -n 9; echo $?; flock 9");
	home_until(h, !strcmp(home_got(h, 1), "1\n"));
	assert_int_equal(flock(fd, LOCK_UN), 0);
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->locks[lock], 2);
	mine = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(mine, LOCK_EX | LOCK_NB), 0);
	files_end(h);
	unlink(path);
	close(mine);
	close(fd);
}

static void test_devices(void **state)
{
	struct home *h;
	uint32_t full, zero;

	files_none();
	full = files_add(JOB_DEVICE, JOB_OPEN_WRITE);
	files[full - FIRST].ino = 7;
	zero = files_add(JOB_DEVICE, JOB_OPEN_READ);
	files[zero - FIRST].ino = 5;
	files_descriptor(1, full);
	files_descriptor(4, zero);
	h = files_run(JOB_FD(0) | JOB_FD(2), "LC_ALL=C echo x; head -c 1000 <&4 | wc -c >&2");
	home_until(h, home_has(h, "exit"));
	assert_non_null(strstr(home_got(h, 2), "No space left on device\n1000\n"));
	files_end(h);

	/* and no other */
	files[full - FIRST].ino = 1;
	h = files_run(JOB_FD(0) | JOB_FD(2), "true");
	home_until(h, home_has(h, "refused"));
	files_end(h);
}

static void test_folder(void **state)
{
	int fd = files_make("");
	struct home *h;
	uint32_t in;
	int folder;

	unlink(path);
	snprintf(path, sizeof(path), "/tmp");
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	files_none();
	in = files_add_real(folder, JOB_OPEN_READ, 0);
	files_descriptor(0, in);
	h = files_run(JOB_FD(1) | JOB_FD(2), "cat");
	home_until(h, home_has(h, "exit"));
	assert_non_null(strstr(home_got(h, 2), "Is a directory"));
	files_end(h);
	close(folder);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipes),  cmocka_unit_test(test_many),
		cmocka_unit_test(test_closed), cmocka_unit_test(test_nonblocking),
		cmocka_unit_test(test_socket), cmocka_unit_test(test_socket_bytes),
		cmocka_unit_test(test_tokens), cmocka_unit_test(test_offset),
		cmocka_unit_test(test_append), cmocka_unit_test(test_another),
		cmocka_unit_test(test_lock),   cmocka_unit_test(test_devices),
		cmocka_unit_test(test_folder),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
