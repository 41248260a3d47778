// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stories of the live hierarchy, as the roles that change: each is compared line by line with
 * golden/NAME.txt beside this file, for a fixed seed. Who changes the protocol on purpose runs
 * `EHS_GOLDEN=write BUILD/selftests/unit/test_story` from the top of the tree and reads the
 * difference. That all is right in the end is checked whatever the file says.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world_steps.h"

#define N 2
#define L 2
#define NODES (1u << N * L)
#define BEGIN 20000 /* all have found their controllers */

static struct story {
	char text[16384];
	size_t length;
	struct eh_world *world;
	uint64_t tasks;
} story;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	size_t room = sizeof(story.text) - story.length;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(story.text + story.length, room, format, args);
	va_end(args);
	assert_true(n >= 0 && (size_t)n < room);
	story.length += (size_t)n;
}

static const char *name_of(uint32_t node, char text[EH_CODE_TEXT])
{
	return eh_code_format(&(struct eh_topology){ N, L }, (struct eh_code){ 0, node }, text);
}

static void on_event(void *ctx, const struct eh_world_event *e)
{
	char node[EH_CODE_TEXT], parent[EH_CODE_TEXT];

	if (e->type != EH_WORLD_ROLE || e->now < BEGIN)
		return;
	say("%6llu %s rank %u, %s%s, epoch %llu\n", (unsigned long long)e->now,
	    name_of(e->node, node), e->rank,
	    e->rank == L	  ? "the top"
	    : e->to == EH_NO_NODE ? "no parent"
				  : "parent ",
	    e->rank == L || e->to == EH_NO_NODE ? "" : name_of(e->to, parent),
	    (unsigned long long)eh_member_rule(eh_world_member(story.world, e->node)).epoch);
}

static void begin(const char *what)
{
	story.length = 0;
	story.tasks = 0;
	world_seed = 1;
	story.world = world_new(N, L, 10, 0, false, on_event);
	world_start_all(story.world, N * L);
	world_run(story.world, BEGIN);
	say("%s, EH(%u,%u), seed 1; time in ms, heartbeat %u\n", what, N, L, HEARTBEAT);
}

static void stage(const char *what, uint32_t node)
{
	char text[EH_CODE_TEXT];

	say("%6llu -- %s%s%s\n", (unsigned long long)eh_world_now(story.world), what,
	    node == EH_NO_NODE ? "" : " ", node == EH_NO_NODE ? "" : name_of(node, text));
}

static void kill_node(uint32_t node)
{
	stage("dies:", node);
	assert_int_equal(eh_world_kill(story.world, node), 0);
}

/* So much work on these nodes that their top must raise the thresholds. */
static void overload(uint32_t first, uint32_t count, uint64_t load)
{
	stage("overloaded, from", first);
	for (uint32_t i = first; i < first + count; i++) {
		struct eh_report own = *eh_world_node(story.world, i);

		own.load = load;
		world_own(story.world, i, &own);
	}
	world_run(story.world, 2000);
	assert_int_equal(eh_world_arrive(story.world, first, ++story.tasks, EH_TASK), 0);
	world_run(story.world, 2000);
}

static uint64_t epoch_of(uint32_t node)
{
	return eh_member_rule(eh_world_member(story.world, node)).epoch;
}

static void part(uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < NODES; i++)
		world_sides[i] = i >= first && i < first + count;
	world_is_whole = false;
	assert_int_equal(eh_world_cut(story.world, world_sides), 0);
}

static void heal(void)
{
	stage("heals", EH_NO_NODE);
	world_is_whole = true;
	assert_int_equal(eh_world_cut(story.world, NULL), 0);
}

static void settle(void)
{
	world_run(story.world, 2 * SETTLE);
	world_check(story.world, N, L, true);
}

/* The story so far against the file, or into it. */
static void end(const char *name)
{
	const char *wish = getenv("EHS_GOLDEN");
	bool write = wish && !strcmp(wish, "write");
	static char golden[sizeof(story.text)];
	char path[256];
	size_t length;
	FILE *file;

	eh_world_free(story.world);
	snprintf(path, sizeof(path), "%.*sgolden/%s.txt",
		 (int)(strlen(__FILE__) - strlen("test_story.c")), __FILE__, name);
	file = fopen(path, write ? "w" : "r");
	if (!file)
		fail_msg("%s: %s; run this from the top of the tree", path, strerror(errno));
	if (write) {
		length = fwrite(story.text, 1, story.length, file);
	} else {
		length = fread(golden, 1, sizeof(golden), file);
		if (length != story.length || memcmp(golden, story.text, length))
			print_message("%s\nis not what happened:\n%s", path, story.text);
		assert_int_equal(length, story.length);
		assert_memory_equal(golden, story.text, length);
	}
	assert_int_equal(length, story.length);
	assert_int_equal(fclose(file), 0);
}

static void test_controller(void **state)
{
	begin("a controller dies");
	kill_node(4);
	settle();
	assert_int_equal(eh_member_rank(eh_world_member(story.world, 5)), 1);
	end("controller");
}

static void test_top(void **state)
{
	begin("the top dies");
	kill_node(0);
	settle();
	/* the lowest of its group leads that, and so all */
	assert_int_equal(eh_member_rank(eh_world_member(story.world, 1)), L);
	end("top");
}

static void test_half(void **state)
{
	begin("half a group dies, its controller too");
	kill_node(4);
	kill_node(5);
	settle();
	assert_int_equal(eh_member_rank(eh_world_member(story.world, 6)), 1);
	end("half");
}

static void test_partition(void **state)
{
	uint64_t here, there;

	begin("two groups are parted from the others, and come back");
	stage("parted:", 8);
	part(8, 8);
	settle();
	assert_int_equal(eh_member_rank(eh_world_member(story.world, 0)), L);
	assert_int_equal(eh_member_rank(eh_world_member(story.world, 8)), L);
	/* each side goes on by itself, the other one further */
	overload(0, 8, 4000);
	overload(8, 8, 5000);
	overload(8, 8, 9000);
	here = epoch_of(0);
	there = epoch_of(8);
	assert_true(here > 0 && there > here);
	heal();
	settle();
	assert_int_equal(eh_member_rank(eh_world_member(story.world, 8)), 1);
	/* the rule that the others made without their top is over */
	assert_true(epoch_of(0) >= here);
	for (uint32_t i = 1; i < NODES; i++)
		assert_int_equal(epoch_of(i), epoch_of(0));
	end("partition");
}

static void test_back(void **state)
{
	uint64_t epoch;

	begin("the old top comes back, with an epoch that is over");
	overload(0, NODES, 4000);
	epoch = epoch_of(0);
	assert_true(epoch > 0);
	kill_node(0);
	settle();
	overload(1, NODES - 1, 9000);
	assert_true(epoch_of(1) > epoch);
	epoch = epoch_of(1);
	stage("starts:", 0);
	assert_int_equal(eh_world_start(story.world, 0), 0);
	settle();
	/* it leads again, as the lowest, by the rule that it has found */
	assert_int_equal(eh_member_rank(eh_world_member(story.world, 0)), L);
	assert_int_equal(eh_member_rank(eh_world_member(story.world, 1)), 0);
	assert_true(epoch_of(0) >= epoch);
	end("back");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_controller), cmocka_unit_test(test_top),
		cmocka_unit_test(test_half),	   cmocka_unit_test(test_partition),
		cmocka_unit_test(test_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
