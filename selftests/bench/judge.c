// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a plan of ehctl plan dag in SimGrid, hop by hop, and prints when the last task ends.
 *     judge PLATFORM PLAN queues|shared
 * With `queues` a link serves one message after the other, as the planner has it; with `shared` all
 * messages on a link share its bandwidth, as SimGrid has it. PLAN has the numbers of tasks and
 * messages; for each task, in the order of its processor, host, work, and how many messages and
 * tasks it waits for; for each message, in the order of the plan, the tasks that send and wait (in
 * the order above), the data, the number of hops, and the hosts on the way. A message of no hops
 * only says that its task has ended.
 */
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mutex.h>
#include <simgrid/semaphore.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOPS 64
#define HOSTS 64
#define NAME 32

struct task {
	char host[NAME];
	double work;
	int waits;
	sg_sem_t ready; /* released for each that it waits for */
	bool follows; /* the task before it, on the same processor */
};

struct message {
	int from, to, hops;
	double data;
	char host[HOPS + 1][NAME];
	sg_sem_t sent; /* released when `from` ends */
};

static struct task *tasks;
static struct message *messages;
static int ntasks, nmessages;
static bool queues;
static double end;

static struct {
	char from[NAME], to[NAME];
	sg_mutex_t turn;
} links[HOSTS * HOSTS];
static int nlinks;

static sg_mutex_t link_between(const char *from, const char *to)
{
	int i = 0;

	while (i < nlinks && (strcmp(links[i].from, from) || strcmp(links[i].to, to)))
		i++;
	if (i == HOSTS * HOSTS)
		abort();
	if (i == nlinks) {
		strcpy(links[i].from, from);
		strcpy(links[i].to, to);
		links[i].turn = sg_mutex_init();
		nlinks++;
	}
	return links[i].turn;
}

/* One for each processor: its tasks, from the first one on. */
static void compute(int argc, char **argv)
{
	int t = atoi(argv[1]);

	do {
		for (int i = 0; i < tasks[t].waits; i++)
			sg_sem_acquire(tasks[t].ready);
		sg_actor_execute(tasks[t].work);
		end = simgrid_get_clock() > end ? simgrid_get_clock() : end;
		for (int m = 0; m < nmessages; m++)
			if (messages[m].from == t)
				sg_sem_release(messages[m].sent);
	} while (++t < ntasks && tasks[t].follows);
}

static void travel(int argc, char **argv)
{
	struct message *m = &messages[atoi(argv[1])];

	sg_sem_acquire(m->sent);
	for (int h = 0; h < m->hops; h++) {
		sg_mutex_t turn = link_between(m->host[h], m->host[h + 1]);

		if (queues)
			sg_mutex_lock(turn);
		sg_host_sendto(sg_host_by_name(m->host[h]), sg_host_by_name(m->host[h + 1]),
			       m->data);
		if (queues)
			sg_mutex_unlock(turn);
	}
	sg_sem_release(tasks[m->to].ready);
}

static void read_plan(const char *name)
{
	FILE *f = fopen(name, "r");

	if (!f || fscanf(f, "%d %d", &ntasks, &nmessages) != 2)
		abort();
	tasks = calloc(ntasks, sizeof(*tasks));
	messages = calloc(nmessages + 1, sizeof(*messages));
	for (int t = 0; t < ntasks; t++) {
		if (fscanf(f, "%31s %lf %d", tasks[t].host, &tasks[t].work, &tasks[t].waits) != 3)
			abort();
		tasks[t].ready = sg_sem_init(0);
		tasks[t].follows = t && !strcmp(tasks[t].host, tasks[t - 1].host);
	}
	for (int m = 0; m < nmessages; m++) {
		struct message *x = &messages[m];

		if (fscanf(f, "%d %d %lf %d", &x->from, &x->to, &x->data, &x->hops) != 4 ||
		    x->hops > HOPS)
			abort();
		for (int h = 0; h <= x->hops; h++)
			if (fscanf(f, "%31s", x->host[h]) != 1)
				abort();
		x->sent = sg_sem_init(0);
	}
	fclose(f);
}

static void begin(const char *host, void (*code)(int, char **), int number)
{
	char text[16];
	const char *argv[] = { "judge", text, NULL };

	snprintf(text, sizeof(text), "%d", number);
	sg_actor_create_("judge", sg_host_by_name(host), code, 2, argv);
}

int main(int argc, char **argv)
{
	simgrid_init(&argc, argv);
	if (argc != 4)
		return 2;
	queues = !strcmp(argv[3], "queues");
	simgrid_load_platform(argv[1]);
	read_plan(argv[2]);
	for (int m = 0; m < nmessages; m++)
		begin(messages[m].host[0], travel, m);
	for (int t = 0; t < ntasks; t++)
		if (!tasks[t].follows)
			begin(tasks[t].host, compute, t);
	simgrid_run();
	printf("%.15g\n", end);
	return 0;
}
