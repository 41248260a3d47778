// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two ends that send each other bytes, over connections that break at any moment, lose what is on its way,
 * and let frames of earlier ones come late. Each byte arrives once and in order, and an end that does not
 * work off what comes keeps no more than it must. EHS_SEED=N repeats a run, EHS_ROUNDS=N makes it longer.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job/bytes.h"
#include "random.h"

#define MEMORY (BYTES_MAX * 6)
#define PAUSE 40000 /* bytes that wait, above which an end holds */
#define WIRE (1u << 18) /* bytes on their way */
#define FRAME_ALL (FRAME_HEADER + FRAME_LINK_MAX)
#define ROUNDS 60000

struct end {
	struct job_link link;
	uint8_t memory[MEMORY];
	uint64_t sent, came, worked; /* bytes */
	bool attached;
	uint8_t wire[WIRE]; /* from this end */
	size_t on_wire;
	uint8_t late[FRAME_ALL];
	size_t nlate;
};

static struct end ends[2];
static unsigned long breaks, late, holds;

/* Byte `at` of what end `i` sends. */
static uint8_t pattern(int i, uint64_t at)
{
	at = (at + 1) * 0x9e3779b97f4a7c15u + i;
	return at >> 40;
}

static void put_some(int i)
{
	static uint8_t bytes[3 * BYTES_MAX];
	struct end *e = &ends[i];
	size_t n = random_one_in(3) ? random_below(sizeof(bytes)) + 1 : random_below(200) + 1, put;

	for (size_t k = 0; k < n; k++)
		bytes[k] = pattern(i, e->sent + k);
	put = job_bytes_put(&e->link, bytes, n);
	assert_true(put <= n);
	e->sent += put;
}

static void take_one(int i, const uint8_t *frame, size_t length)
{
	struct end *e = &ends[i];
	const uint8_t *bytes;
	size_t n;
	int ret = job_bytes_take(&e->link, frame + FRAME_HEADER, length - FRAME_HEADER, &bytes, &n);

	assert_true(ret >= 0);
	if (!ret)
		return;
	assert_true(n > 0 && n <= BYTES_MAX);
	for (size_t k = 0; k < n; k++)
		assert_int_equal(bytes[k], pattern(!i, e->came + k));
	e->came += n;
	assert_true(e->came <= ends[!i].sent);
	/* what was there when it held, what one frame brings, and what the other end keeps */
	assert_true(e->came - e->worked <= PAUSE + BYTES_MAX + MEMORY);
	if (e->came - e->worked > PAUSE) {
		holds += !e->link.held;
		job_link_hold(&e->link, true);
	}
}

static void work_off(int i)
{
	struct end *e = &ends[i];
	uint64_t waits = e->came - e->worked;

	if (waits)
		e->worked += 1 + random_below(waits);
	if (e->came - e->worked <= PAUSE)
		job_link_hold(&e->link, false);
}

/* Frames go out as far as there is room. */
static void send_some(int i)
{
	struct end *e = &ends[i];
	size_t n;

	while (e->attached && e->on_wire + FRAME_ALL < WIRE) {
		n = job_link_next(&e->link, e->wire + e->on_wire, FRAME_ALL);
		if (!n)
			return;
		if (random_one_in(20)) {
			memcpy(e->late, e->wire + e->on_wire, n);
			e->nlate = n;
		}
		e->on_wire += n;
		if (random_one_in(4))
			return;
	}
}

static size_t frame_length(const uint8_t *at)
{
	enum frame_type type;
	uint32_t length;

	assert_int_equal(frame_parse(at, &type, &length), 0);
	assert_int_equal(type, FRAME_LINK);
	return FRAME_HEADER + length;
}

/* What end `i` has sent arrives, or `most` frames of it. */
static void arrive(int i, unsigned int most)
{
	struct end *e = &ends[i];
	size_t at = 0;

	while (at < e->on_wire && most--) {
		size_t n = frame_length(e->wire + at);

		if (ends[!i].attached)
			take_one(!i, e->wire + at, n);
		at += n;
	}
	memmove(e->wire, e->wire + at, e->on_wire - at);
	e->on_wire -= at;
}

/* One end notices before the other. */
static void detach(int i)
{
	job_link_detach(&ends[i].link);
	ends[i].attached = false;
}

static void fault(void)
{
	int i = random_below(2);

	if (random_one_in(2) && ends[i].nlate && ends[!i].attached) {
		late++;
		take_one(!i, ends[i].late, ends[i].nlate);
		return;
	}
	breaks++;
	if (random_one_in(2))
		arrive(i, random_below(20));
	detach(i);
	ends[0].on_wire = ends[1].on_wire = 0;
}

/* A new connection is one for both. */
static void connect_both(void)
{
	for (int i = 0; i < 2; i++) {
		if (ends[i].attached)
			detach(i);
		job_link_attach(&ends[i].link);
		ends[i].attached = true;
		ends[i].on_wire = 0;
	}
}

static void begin(void)
{
	memset(ends, 0, sizeof(ends));
	for (int i = 0; i < 2; i++)
		job_link_init(&ends[i].link, ends[i].memory, MEMORY);
	connect_both();
}

static void step(bool faults)
{
	if (faults && random_one_in(50))
		fault();
	if ((!ends[0].attached || !ends[1].attached) && (!faults || random_one_in(10)))
		connect_both();
	for (int i = 0; i < 2; i++) {
		if (faults && random_one_in(2))
			put_some(i);
		send_some(i);
		arrive(i, faults ? random_below(6) : 100);
		if (!faults || random_one_in(3))
			work_off(i);
	}
}

static void test_faults(void **state)
{
	const char *wish = getenv("EHS_ROUNDS");
	long rounds = wish ? atol(wish) : ROUNDS;

	begin();
	for (long n = 0; n < rounds; n++) {
		step(true);
		if (!random_one_in(2000))
			continue;
		/* without faults all arrives */
		for (int calm = 0; calm < 1000; calm++)
			step(false);
		for (int i = 0; i < 2; i++)
			assert_int_equal(ends[!i].came, ends[i].sent);
	}
	printf("# %lu breaks, %lu late frames, %lu holds, %llu bytes\n", breaks, late, holds,
	       (unsigned long long)(ends[0].came + ends[1].came));
	assert_true(breaks && late && holds && ends[0].came && ends[1].came);
}

/* An end that holds: the other one sends what its memory takes, and goes on afterwards. */
static void test_hold(void **state)
{
	uint64_t stands;

	begin();
	for (int n = 0; n < 10; n++)
		step(false);
	job_link_hold(&ends[1].link, true);
	for (int n = 0; n < 200; n++) {
		put_some(0);
		send_some(0);
		arrive(0, 100);
		send_some(1);
		arrive(1, 100);
	}
	stands = ends[1].came;
	assert_true(stands <= MEMORY && stands > MEMORY - 2 * BYTES_MAX);
	/* also on a new connection */
	connect_both();
	for (int n = 0; n < 20; n++) {
		send_some(1);
		arrive(1, 100);
		put_some(0);
		send_some(0);
		arrive(0, 100);
	}
	/* what it had room for still, by chance */
	assert_true(ends[1].came >= stands && ends[1].came <= MEMORY);
	stands = ends[1].came;
	ends[1].worked = stands;
	for (int n = 0; n < 200; n++) {
		put_some(0);
		step(false);
	}
	assert_true(ends[1].came > stands);
	for (int n = 0; n < 200; n++)
		step(false);
	assert_int_equal(ends[1].came, ends[0].sent);
}

/* What no end sends. */
static void test_wrong(void **state)
{
	uint8_t frame[FRAME_ALL] = { 0 };
	const uint8_t *bytes;
	size_t n;

	begin();
	for (int k = 0; k < 10; k++)
		step(false);
	frame_put_u64(frame, 1);
	frame_put_u64(frame + 8, 1);
	frame_put_u32(frame + 16, BYTES_DATA + 1);
	assert_int_equal(job_bytes_take(&ends[0].link, frame, LINK_HEADER + 1, &bytes, &n),
			 -EPROTO);
	begin();
	for (int k = 0; k < 10; k++)
		step(false);
	frame_put_u32(frame + 16, BYTES_DATA);
	assert_int_equal(job_bytes_take(&ends[0].link, frame, LINK_HEADER, &bytes, &n), -EPROTO);
	assert_int_equal(job_bytes_take(&ends[0].link, frame, LINK_HEADER - 1, &bytes, &n),
			 -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_wrong),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
