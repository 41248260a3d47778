// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames and the specification of a job: what goes in comes out, and nothing malformed is taken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "random.h"
#include "wire/cursor.h"
#include "wire/frame.h"
#include "wire/job.h"

static void test_headers(void **state)
{
	enum frame_type type;
	uint32_t length;

	for (unsigned int t = 1; t < FRAME_TYPES; t++) {
		const uint32_t lengths[] = { 0, frame_limit(t) / 2, frame_limit(t) };
		uint8_t head[FRAME_HEADER];

		for (int i = 0; i < 3; i++) {
			frame_header(head, t, lengths[i]);
			assert_int_equal(frame_parse(head, &type, &length), 0);
			assert_int_equal(type, t);
			assert_int_equal(length, lengths[i]);
		}
		frame_header(head, t, frame_limit(t) + 1);
		assert_int_equal(frame_parse(head, &type, &length), -EMSGSIZE);
		frame_header(head, t, UINT32_MAX);
		assert_int_equal(frame_parse(head, &type, &length), -EMSGSIZE);
		for (int reserved = 1; reserved < 4; reserved++) {
			frame_header(head, t, 0);
			head[reserved] = 1;
			assert_int_equal(frame_parse(head, &type, &length), -EPROTO);
		}
	}
	assert_int_equal(frame_limit(0), 0);
	assert_int_equal(frame_limit(FRAME_TYPES), 0);
	assert_int_equal(frame_limit(~0u), 0);
	for (unsigned int t = 0; t < 256; t++) {
		const uint8_t head[FRAME_HEADER] = { t };

		assert_int_equal(frame_parse(head, &type, &length),
				 t && t < FRAME_TYPES ? 0 : -EPROTO);
	}
}

/* The bytes on the wire, for the other end may be another program. */
static void test_bytes(void **state)
{
	static const uint8_t want[FRAME_HEADER] = { FRAME_GONE, 0, 0, 0, 0x34, 0x12, 0, 0 };
	uint8_t got[FRAME_HEADER];

	frame_header(got, FRAME_GONE, 0x1234);
	assert_memory_equal(got, want, sizeof(want));
	frame_put_u64(got, 0x0102030405060708);
	assert_int_equal(got[0], 8);
	assert_int_equal(got[7], 1);
	assert_int_equal(frame_get_u64(got), 0x0102030405060708);
	assert_int_equal(frame_get_u32(got + 4), 0x01020304);
}

static void test_cursor(void **state)
{
	uint8_t bytes[32], three[3];
	struct cursor_out o = { bytes };
	struct cursor c;

	cursor_put_u8(&o, 0x12);
	cursor_put_u16(&o, 0x3456);
	cursor_put_u32(&o, 0x789abcde);
	cursor_put_u64(&o, 0x0102030405060708);
	cursor_put_bytes(&o, "abc", 3);
	cursor_put_bytes(&o, NULL, 0);
	cursor_put_string(&o, "de");
	assert_int_equal(o.at - bytes, 1 + 2 + 4 + 8 + 3 + 3);
	assert_memory_equal(bytes, "\x12\x56\x34\xde\xbc", 5);

	c = cursor_of(bytes, o.at - bytes);
	assert_int_equal(cursor_u8(&c), 0x12);
	assert_int_equal(cursor_u16(&c), 0x3456);
	assert_int_equal(cursor_u32(&c), 0x789abcde);
	assert_int_equal(cursor_u64(&c), 0x0102030405060708);
	cursor_copy(&c, three, 3);
	assert_memory_equal(three, "abc", 3);
	assert_false(cursor_done(&c));
	assert_int_equal(cursor_left(&c), 3);
	assert_string_equal(cursor_string(&c, 2), "de");
	assert_int_equal(cursor_left(&c), 0);
	assert_true(cursor_done(&c));
}

/* After the first error nothing is read any more, though there is enough of it. */
static void test_cursor_error(void **state)
{
	static const uint8_t bytes[] = { 'l', 'o', 'n', 'g', 0, 'a', 0, 1, 1, 1, 1, 1, 1, 1, 1 };
	uint8_t two[2] = { 9, 9 };

	for (int error = 0; error < 6; error++) {
		struct cursor c = cursor_of(bytes, sizeof(bytes));

		switch (error) {
		case 0:
			cursor_fail(&c);
			break;
		case 1:
			assert_null(cursor_bytes(&c, sizeof(bytes) + 1));
			break;
		case 2:
			assert_null(cursor_bytes(&c, SIZE_MAX));
			break;
		case 3:
			assert_string_equal(cursor_string(&c, 3), "");
			break;
		case 4: /* without its NUL */
			c.end = bytes + 4;
			assert_string_equal(cursor_string(&c, 100), "");
			c.end = bytes + sizeof(bytes);
			break;
		case 5:
			c.end = bytes + 7;
			assert_int_equal(cursor_u64(&c), 0);
			c.end = bytes + sizeof(bytes);
			break;
		}
		assert_int_equal(cursor_left(&c), 0);
		assert_null(cursor_bytes(&c, 0));
		assert_int_equal(cursor_u8(&c), 0);
		assert_int_equal(cursor_u16(&c), 0);
		assert_int_equal(cursor_u32(&c), 0);
		assert_int_equal(cursor_u64(&c), 0);
		assert_string_equal(cursor_string(&c, 100), "");
		cursor_copy(&c, two, 2);
		assert_int_equal(two[0] | two[1], 0);
		c.at = c.end;
		assert_false(cursor_done(&c));
	}
}

static void test_exit(void **state)
{
	const struct frame_exit x = { 0x2a00, 1, UINT64_MAX, 3, 4, 5, 6, 7 };
	uint8_t bytes[FRAME_EXIT_SIZE];
	struct frame_exit y;

	frame_exit_encode(bytes, &x);
	assert_int_equal(frame_exit_decode(&y, bytes, sizeof(bytes)), 0);
	assert_memory_equal(&x, &y, sizeof(x));
	for (size_t n = 0; n < sizeof(bytes); n++)
		assert_int_equal(frame_exit_decode(&y, bytes, n), -EBADMSG);
	assert_int_equal(frame_exit_decode(&y, bytes, sizeof(bytes) + 1), -EBADMSG);
	/* all that waitpid() says of an ended task, and nothing else */
	for (uint64_t status = 0; status < 0x20000; status++) {
		uint64_t sig = status & 0x7f;
		bool ended = status <= 0xffff && (sig ? status >> 8 == 0 && sig <= 64 : true);

		/* the core bit without a signal is not a status either */
		if (!sig && status & 0x80)
			continue;
		frame_put_u64(bytes, status);
		assert_int_equal(frame_exit_decode(&y, bytes, sizeof(bytes)), ended ? 0 : -EBADMSG);
	}
}

static struct terminal terminal_random(void)
{
	struct terminal t = { .iflag = random_below(1 << 16),
			      .oflag = random_below(1 << 16),
			      .cflag = random_64(),
			      .lflag = random_below(1 << 16),
			      .rows = random_64(),
			      .columns = random_64(),
			      .width = random_64(),
			      .height = random_64() };

	for (int i = 0; i < TERMINAL_CC; i++)
		t.cc[i] = random_64();
	return t;
}

static void test_terminal(void **state)
{
	/* bits no terminal has, EXTPROC among them, and the byte behind the control characters */
	static const size_t wrong[] = { 2, 3, 6, 7, 14, 15, 16 + TERMINAL_CC };
	uint8_t bytes[TERMINAL_SIZE], again[TERMINAL_SIZE];
	struct terminal back;

	random_begin();
	for (int round = 0; round < 300; round++) {
		struct terminal t = terminal_random();

		terminal_encode(bytes, &t);
		assert_int_equal(terminal_decode(&back, bytes, sizeof(bytes)), 0);
		assert_int_equal(back.cflag, t.cflag);
		assert_int_equal(back.lflag, t.lflag);
		assert_int_equal(back.columns, t.columns);
		assert_memory_equal(back.cc, t.cc, TERMINAL_CC);
		terminal_encode(again, &back);
		assert_memory_equal(bytes, again, sizeof(bytes));
	}
	for (size_t n = 0; n < sizeof(bytes); n++)
		assert_int_equal(terminal_decode(&back, bytes, n), -EBADMSG);
	assert_int_equal(terminal_decode(&back, bytes, sizeof(bytes) + 1), -EBADMSG);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memcpy(again, bytes, sizeof(again));
		again[wrong[i]] |= 1;
		assert_int_equal(terminal_decode(&back, again, sizeof(again)), -EBADMSG);
	}
}

#define TEXTS 40

static void files_random(struct job_spec *s)
{
	static struct job_file files[JOB_FILES_MAX];
	static struct job_descriptor descriptors[JOB_DESCRIPTORS_MAX];
	uint32_t number = 2;

	s->nfiles = random_below(2) ? random_below(JOB_FILES_MAX + 1) : 0;
	s->ndescriptors = s->nfiles ? random_below(JOB_DESCRIPTORS_MAX + 1) : 0;
	for (uint32_t i = 0; i < s->nfiles; i++)
		files[i] = (struct job_file){ .kind = random_below(JOB_FILE_KINDS),
					      .flags = 1 | random_below(JOB_OPEN_FLAGS + 1),
					      .offset = random_64() >> 1,
					      .ino = random_64(),
					      .place = i % 2 ? "" : "a place",
					      .path = "/a/path" };
	for (uint32_t i = 0; i < s->ndescriptors; i++)
		descriptors[i] = (struct job_descriptor){ number += 1 + random_below(9),
							  4 + random_below(s->nfiles) };
	s->files = files;
	s->descriptors = descriptors;
}

static struct job_spec spec_random(void)
{
	static char text[TEXTS][100];
	static const char *list[TEXTS + 2];
	static uint32_t groups[20];
	struct job_spec s = { .flags = random_64() & JOB_FLAGS,
			      .umask = random_below(01000),
			      .nice = (int)random_below(40) - 20,
			      .uid = random_64(),
			      .gid = random_64(),
			      .loginuid = random_64(),
			      .ngroups = random_below(20),
			      .groups = groups,
			      .sigmask = random_64(),
			      .sigignore = random_64(),
			      .token = text[0],
			      .path = text[1],
			      .terminal = terminal_random(),
			      .cwd = text[2] };
	unsigned int texts = 4 + random_below(TEXTS - 3);

	/* a terminal is open and not /dev/null; only of one there are these, and a background */
	for (int i = 0; i < 3; i++)
		if (!(s.flags & JOB_FD(i)) || s.flags & JOB_NULL(i))
			s.flags &= ~JOB_TTY(i);
	if (!(s.flags & JOB_CTTY))
		s.flags &= ~(JOB_TTYS | JOB_BACKGROUND);
	for (int i = 0; i < TEXTS; i++) {
		size_t n = i < 2 ? 1 + random_below(60) : random_below(99);

		for (size_t c = 0; c < n; c++)
			text[i][c] = 1 + random_below(255);
		text[i][n] = '\0';
	}
	text[2][0] = '/';
	for (int i = 0; i < 20; i++)
		groups[i] = random_64();
	for (int i = 0; i < JOB_RLIMITS; i++)
		s.rlimit[i][0] = s.rlimit[i][1] = random_64();
	for (int i = 0; i < JOB_TRAITS; i++)
		s.traits[i] = random_64();
	s.argc = 1 + random_below(texts - 3);
	s.envc = texts - 3 - s.argc;
	s.argv = list;
	for (unsigned int i = 0; i < s.argc; i++)
		list[i] = text[3 + i];
	list[s.argc] = NULL;
	s.envp = list + s.argc + 1;
	for (unsigned int i = 0; i < s.envc; i++)
		s.envp[i] = text[3 + s.argc + i];
	s.envp[s.envc] = NULL;
	files_random(&s);
	return s;
}

static void same_spec(const struct job_spec *a, const struct job_spec *b)
{
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->umask, b->umask);
	assert_int_equal(a->nice, b->nice);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->gid, b->gid);
	assert_int_equal(a->loginuid, b->loginuid);
	assert_int_equal(a->ngroups, b->ngroups);
	if (a->ngroups)
		assert_memory_equal(a->groups, b->groups, a->ngroups * sizeof(*a->groups));
	assert_memory_equal(a->rlimit, b->rlimit, sizeof(a->rlimit));
	assert_memory_equal(a->traits, b->traits, sizeof(a->traits));
	assert_int_equal(a->sigmask, b->sigmask);
	assert_int_equal(a->sigignore, b->sigignore);
	if (a->flags & JOB_CTTY)
		assert_memory_equal(&a->terminal, &b->terminal, sizeof(a->terminal));
	assert_string_equal(a->token, b->token);
	assert_string_equal(a->path, b->path);
	assert_string_equal(a->cwd, b->cwd);
	assert_int_equal(a->argc, b->argc);
	assert_int_equal(a->envc, b->envc);
	for (unsigned int i = 0; i < a->argc; i++)
		assert_string_equal(a->argv[i], b->argv[i]);
	for (unsigned int i = 0; i < a->envc; i++)
		assert_string_equal(a->envp[i], b->envp[i]);
	assert_null(b->argv[b->argc]);
	assert_null(b->envp[b->envc]);
	assert_int_equal(a->nfiles, b->nfiles);
	for (unsigned int i = 0; i < a->nfiles; i++) {
		assert_int_equal(a->files[i].kind, b->files[i].kind);
		assert_int_equal(a->files[i].flags, b->files[i].flags);
		assert_int_equal(a->files[i].offset, b->files[i].offset);
		assert_int_equal(a->files[i].ino, b->files[i].ino);
		assert_string_equal(a->files[i].place, b->files[i].place);
		assert_string_equal(a->files[i].path, b->files[i].path);
	}
	assert_int_equal(a->ndescriptors, b->ndescriptors);
	for (unsigned int i = 0; i < a->ndescriptors; i++) {
		assert_int_equal(a->descriptors[i].number, b->descriptors[i].number);
		assert_int_equal(a->descriptors[i].channel, b->descriptors[i].channel);
	}
}

/* Encoded into memory of just this size, so that a checker sees one byte too many. */
static uint8_t *encode(const struct job_spec *spec, size_t *size)
{
	uint8_t *bytes;

	*size = job_encoded_size(spec);
	assert_int_not_equal(*size, 0);
	bytes = malloc(*size);
	assert_non_null(bytes);
	job_encode(spec, bytes);
	return bytes;
}

static void test_job(void **state)
{
	random_begin();
	for (int round = 0; round < 300; round++) {
		struct job_spec spec = spec_random(), back;
		size_t size;
		uint8_t *bytes = encode(&spec, &size);

		assert_int_equal(job_decode(&back, bytes, size), 0);
		same_spec(&spec, &back);
		job_free(&back);
		/* cut anywhere, or with something behind it */
		for (size_t n = 0; n < size; n++) {
			uint8_t *cut = malloc(n + !n);

			assert_non_null(cut);
			memcpy(cut, bytes, n);
			assert_int_equal(job_decode(&back, cut, n), -EBADMSG);
			free(cut);
		}
		assert_true(job_version(bytes, size) >= JOB_OLDEST &&
			    job_version(bytes, size) <= JOB_NEWEST);
		assert_int_equal(job_version(bytes, 3), 0);
		bytes = realloc(bytes, size + 1);
		assert_non_null(bytes);
		bytes[size] = 0;
		assert_int_equal(job_decode(&back, bytes, size + 1), -EBADMSG);
		/* one of a newer version is known as such, whatever is in it */
		frame_put_u32(bytes, JOB_NEWEST + 1);
		assert_int_equal(job_version(bytes, size), JOB_NEWEST + 1);
		assert_int_equal(job_decode(&back, bytes, size), -EBADMSG);
		free(bytes);
	}
}

/* Numbers out of their range, lying counts, texts too long. */
static void test_malformed(void **state)
{
	static const struct {
		const char *what;
		unsigned int word;
		uint32_t value;
	} bad[] = { { "version", 0, 4 },
		    { "version", 0, 5 },
		    { "version", 0, 2 },
		    { "version", 0, 0 },
		    { "flags", 1, JOB_FLAGS + 1 },
		    { "a closed terminal", 1, JOB_FD(0) | JOB_TTY(1) | JOB_CTTY },
		    { "a terminal that is /dev/null", 1,
		      JOB_FD(2) | JOB_TTY(2) | JOB_NULL(2) | JOB_CTTY },
		    { "a terminal of none", 1, JOB_FD(0) | JOB_TTY(0) },
		    { "the background of no terminal", 1, JOB_FD(0) | JOB_BACKGROUND },
		    { "umask", 2, 01000 },
		    { "nice", 3, 20 },
		    { "nice", 3, (uint32_t)-21 },
		    { "groups", 6, JOB_GROUPS_MAX + 1 },
		    { "groups", 6, UINT32_MAX },
		    { "no arguments", 7, 0 },
		    { "arguments", 7, UINT32_MAX },
		    { "arguments", 7, 100000 },
		    { "environment", 8, UINT32_MAX },
		    { "environment", 8, 100000 } };
	static char long_path[5000];
	struct job_spec spec, back;
	uint8_t *bytes;
	size_t size;

	random_begin();
	spec = spec_random();
	spec.nfiles = spec.ndescriptors = 0;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bytes = encode(&spec, &size);
		frame_put_u32(bytes + 4 * bad[i].word, bad[i].value);
		if (job_decode(&back, bytes, size) != -EBADMSG)
			fail_msg("%s of %u was taken", bad[i].what, bad[i].value);
		free(bytes);
	}
	memset(long_path, '/', sizeof(long_path) - 1);
	for (int i = 0; i < 6; i++) {
		struct job_spec odd = spec;
		const char **which[] = { &odd.token, &odd.path, &odd.cwd };

		*which[i % 3] = i < 3 ? long_path : "";
		bytes = encode(&odd, &size);
		assert_int_equal(job_decode(&back, bytes, size), -EBADMSG);
		free(bytes);
	}
	spec.flags = JOB_FD(0) | JOB_TTY(0) | JOB_CTTY;
	bytes = encode(&spec, &size);
	assert_int_equal(job_decode(&back, bytes, size), 0);
	job_free(&back);
	spec.terminal.lflag |= TERMINAL_EXTPROC;
	free(bytes);
	bytes = encode(&spec, &size);
	assert_int_equal(job_decode(&back, bytes, size), -EBADMSG);
	free(bytes);
	spec.flags = 0;
	spec.cwd = "tmp";
	bytes = encode(&spec, &size);
	assert_int_equal(job_decode(&back, bytes, size), -EBADMSG);
	free(bytes);
}

/* Open files: what no task can have. */
static void test_malformed_files(void **state)
{
	const char *argv[] = { "true", NULL }, *envp[] = { NULL };
	struct job_file file = {
		.kind = JOB_REAL, .flags = JOB_OPEN_READ, .place = "", .path = "/x"
	};
	struct job_descriptor descriptors[2] = { { 3, 4 }, { 5, 1 } };
	struct job_spec spec = { .flags = JOB_FD(1) | JOB_FD(0) | JOB_TTY(0) | JOB_CTTY,
				 .token = "1",
				 .path = "/bin/true",
				 .cwd = "/",
				 .argc = 1,
				 .argv = argv,
				 .envp = envp,
				 .nfiles = 1,
				 .ndescriptors = 2,
				 .files = &file,
				 .descriptors = descriptors },
			back;

	for (int i = 0; i < 14; i++) {
		const struct job_file was = file;
		const struct job_descriptor had[2] = { descriptors[0], descriptors[1] };
		const struct job_spec before = spec;
		const bool good = i == 0 || i == 10 || i == 12;
		uint8_t *bytes;
		size_t size;

		switch (i) {
		case 1:
			file.kind = JOB_FILE_KINDS;
			break;
		case 2:
			file.flags |= JOB_OPEN_FLAGS + 1;
			break;
		case 3: /* it can be used for nothing */
			file.flags = JOB_OPEN_APPEND;
			break;
		case 4:
			file.offset = 1ull << 63;
			break;
		case 5:
			file.path = "x";
			break;
		case 6: /* the same twice */
			descriptors[1].number = 3;
			break;
		case 7: /* a file that is not there */
			descriptors[0].channel = 5;
			break;
		case 8: /* closed */
			descriptors[1].channel = 2;
			break;
		case 9: /* it is the terminal */
			descriptors[1].channel = 0;
			break;
		case 10:
			descriptors[1].channel = 3;
			break;
		case 11: /* there already */
			descriptors[0].number = 1;
			break;
		case 12:
			descriptors[0].number = 2;
			break;
		case 13:
			descriptors[1].number = JOB_NUMBER_MAX + 1;
			break;
		default:
			break;
		}
		bytes = encode(&spec, &size);
		if (job_decode(&back, bytes, size) != (good ? 0 : -EBADMSG))
			fail_msg("case %d", i);
		if (good)
			job_free(&back);
		free(bytes);
		file = was;
		descriptors[0] = had[0];
		descriptors[1] = had[1];
		spec = before;
	}
}

/* As large as ARG_MAX allows; above FRAME_JOB_MAX it is not encoded. */
static void test_large(void **state)
{
	char *big = malloc(FRAME_JOB_MAX);
	const char *argv[] = { "true", big, NULL }, *envp[] = { NULL };
	struct job_spec spec = { .token = "@0.1",
				 .path = "/bin/true",
				 .cwd = "/",
				 .argc = 2,
				 .argv = argv,
				 .envp = envp },
			back;
	size_t size;
	uint8_t *bytes;

	assert_non_null(big);
	memset(big, 'x', FRAME_JOB_MAX);
	big[6 << 20] = '\0';
	bytes = encode(&spec, &size);
	assert_int_equal(job_decode(&back, bytes, size), 0);
	assert_int_equal(strlen(back.argv[1]), 6 << 20);
	job_free(&back);
	free(bytes);
	big[6 << 20] = 'x';
	big[FRAME_JOB_MAX - 1] = '\0';
	assert_int_equal(job_encoded_size(&spec), 0);
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_cursor),
		cmocka_unit_test(test_cursor_error),
		cmocka_unit_test(test_exit),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_job),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_malformed_files),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
