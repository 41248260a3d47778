// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file of costs, whose checksum is made right for half of the inputs; what is read of it is written and read the
 * same. Then runs of any user, with any figures and times, after which the table is as bounded as before.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/entry.h"
#include "cost/key.h"
#include "cost/table.h"
#include "cost/text.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char head[] = "ehsched-costs 1\n";

static uint64_t sum(const char *text)
{
	uint64_t s = 0xcbf29ce484222325u;

	while (*text)
		s = (s ^ (unsigned char)*text++) * 0x100000001b3u;
	return s;
}

static void again(const struct cost_table *table)
{
	char *text = cost_write(table), *same, why[COST_WHY] = "";
	struct cost_table *copy;

	must(text && strlen(text) < COST_TEXT_MAX);
	copy = cost_read(text, why);
	must(copy && !*why && cost_count(copy) <= cost_count(table));
	same = cost_write(copy);
	must(same && !strcmp(text, same));
	free(same);
	free(text);
	cost_free(copy);
}

static struct cost_table *read_text(const uint8_t *data, size_t size)
{
	const bool right = size && data[0] & 1;
	char why[COST_WHY] = "", *text = malloc(size + sizeof(head) + 32);
	struct cost_table *table;

	must(text);
	if (size)
		size--, data++;
	*text = '\0';
	if (right)
		strcpy(text, head);
	sprintf(text + strlen(text), "%.*s", (int)size, (const char *)data);
	if (right)
		sprintf(text + strlen(text), "end %016" PRIx64 "\n", sum(text));
	table = cost_read(text, why);
	must(!table == !!*why);
	free(text);
	return table;
}

static uint64_t value(struct input *in)
{
	const uint8_t b = input_byte(in);

	if (b < 128)
		return b;
	return b < 192 ? 1ull << (b - 128) : UINT64_MAX - (b & 7) + ((uint64_t)(b & 8) << 45);
}

static void run(struct cost_table *t, struct input *in)
{
	const uint8_t what = input_byte(in);
	const uint32_t uid = what >> 4;
	const uint64_t key = input_byte(in);
	const int64_t now = (int64_t)value(in);
	struct cost_run r = { .time_us = value(in), .used = what & 4 };
	char host[4] = { 'n', 'a' + (what >> 3 & 31), 0 };
	struct cost_expected e;

	if (r.used) {
		r.cpu_us = value(in);
		r.memory_kib = value(in);
		r.bytes = value(in);
	}
	if (what & 1)
		cost_transferred(t, uid, host, r.time_us, now);
	else
		cost_ran(t, uid, key, what & 2 ? COST_AWAY : COST_HERE, &r, now);
	if (!cost_expect(t, uid, key, now, &e))
		return;
	must(e.runs >= COST_FEW && e.place < COST_PLACES && e.time_us <= COST_MOST &&
	     e.most_us >= e.time_us && e.cpu_us <= COST_MOST && e.memory_kib <= COST_MOST &&
	     e.bytes <= COST_MOST);
	cost_is_short(&e);
}

/* Words of a command: the name of a program must not be read behind them. */
static void keys(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 2);
	const char *argv[9] = { NULL };
	size_t n = 0, at = 0;

	must(text);
	memcpy(text, data, size);
	text[size] = text[size + 1] = '\0';
	while (at < size && n < 8) {
		argv[n++] = text + at;
		at += strlen(text + at) + 1;
	}
	if (n)
		must(cost_key(argv[0], argv) == cost_key(argv[0], argv));
	cost_key(text, NULL);
	must(cost_host_name(text));
	free(text);
}

/* A text, a NUL, and runs. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *gap = memchr(data, 0, size);
	const size_t text = gap ? (size_t)(gap - data) : size;
	struct input in = { data + text, size - text };
	struct cost_table *table = read_text(data, text);

	/* A text has room for all, so it takes a while: not of each. */
	const bool look = table || (text && data[0] & 2);

	if (!table)
		table = cost_new();
	must(table);
	while (in.left)
		run(table, &in);
	must(cost_count(table) <= COST_ENTRIES);
	if (look)
		again(table);
	cost_free(table);
	keys(data, size);
	return 0;
}
