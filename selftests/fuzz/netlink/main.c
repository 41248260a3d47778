// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz [OPTION]…: plays random sequences of messages, execs and other events
 * against the running family ehsched. For a guest made for it: as root, with
 * the module loaded and nobody else in its cgroups.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include "cover.h"
#include "message.h"
#include "scene.h"
#include "tape.h"
#include "verdict.h"

#define WORKERS_MAX 8
#define CORPUS_MAX 1024
/* A sequence that takes longer than this hangs in the kernel. */
#define STUCK_SECONDS 120

/* What a worker tells the parent; shared memory. */
struct worker {
	pid_t pid;
	uint64_t sequences, messages;
	time_t alive;
	struct tape tape; /* of the sequence under way */
	unsigned int found;
	struct tape corpus[CORPUS_MAX];
};

static struct {
	double seconds;
	uint64_t seed;
	unsigned int workers;
	const char *stub, *cgroups, *corpus, *replay;
	bool progress, print;
} options = { .seconds = 10, .workers = 4, .cgroups = "/sys/fs/cgroup/fuzz" };

static uint16_t family;
static uint32_t group;
static volatile sig_atomic_t stop;

static void __attribute__((noreturn, format(printf, 2, 3))) die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "fuzz: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(status);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void flip_intercept(struct tape *tape)
{
	int fd = open("/sys/module/ehsched/parameters/intercept", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, tape_one_in(tape, 3) ? "N" : "Y", 1) != 1)
			die(1, "intercept: %s", strerror(errno));
		close(fd);
	}
}

/* A placement from its beginning, which chance would hardly ever find: a load, an agent, a request and a verdict. */
static void placement(struct scene *scene, struct tape *tape)
{
	unsigned int i = tape_below(tape, SCENE_SOCKETS);
	struct pollfd asked = { .fd = scene->sockets[i], .events = POLLIN };

	message_overload(scene, tape, i);
	scene_receive(scene, i, 4);
	scene_spawn_ordinary(scene, tape, i);
	scene_spawn_ordinary(scene, tape, i);
	poll(&asked, 1, 200);
	scene_receive(scene, i, 4);
	message_answer(scene, tape);
}

/* One event of a sequence; the numbers are how often, in thirty-seconds. */
static void step(struct scene *scene, struct tape *tape, struct worker *worker)
{
	unsigned int which = tape_below(tape, 32);

	if (which < 10) {
		message_send_random(scene, tape);
		worker->messages++;
	} else if (which < 14) {
		scene_spawn(scene, tape);
	} else if (which < 17) {
		scene_receive(scene, tape_below(tape, SCENE_SOCKETS), 1 + tape_below(tape, 8));
	} else if (which < 20) {
		scene_open_socket(scene, tape);
	} else if (which < 21) {
		scene_close_socket(scene, tape_below(tape, SCENE_SOCKETS));
	} else if (which < 22) {
		message_overload(scene, tape, tape_below(tape, SCENE_SOCKETS));
	} else if (which < 24) {
		placement(scene, tape);
	} else if (which < 27) {
		/* only what was read can be answered */
		scene_receive(scene, tape_below(tape, SCENE_SOCKETS), 4);
		message_answer(scene, tape);
	} else if (which < 28) {
		message_send_controller(scene, tape);
	} else if (which < 29) {
		scene_kill(scene, tape_below(tape, SCENE_CHILDREN));
	} else if (which < 30) {
		scene_new_namespace(scene, tape_below(tape, SCENE_NAMESPACES));
	} else if (which < 31) {
		scene_close_namespace(scene, tape_below(tape, SCENE_NAMESPACES));
	} else if (tape_one_in(tape, 4)) {
		scene_renew_cgroup(scene);
	} else if (tape_one_in(tape, 4)) {
		flip_intercept(tape);
	} else {
		/* lets the children come as far as they do */
		poll(NULL, 0, tape_below(tape, 30));
	}
}

/* Return: how many places it was the first to reach. */
static unsigned int play(struct scene *scene, struct tape *tape, struct worker *worker)
{
	unsigned int i, n = 4 + tape_below(tape, 40), news = 0;

	worker->alive = time(NULL);
	scene->news = 0;
	for (i = 0; i < 3; i++)
		scene_open_socket(scene, tape);
	/* a full tape would only read zeros */
	for (i = 0; i < n && tape->at < TAPE_MAX && !stop; i++) {
		step(scene, tape, worker);
		news += cover_take();
		/* it is looked at when the kernel says something */
		worker->tape = *tape;
	}
	scene_clear(scene);
	worker->sequences++;
	return news + scene->news + cover_take();
}

static void corpus_add(struct worker *worker, const struct tape *tape)
{
	if (worker->found < CORPUS_MAX) {
		worker->corpus[worker->found] = *tape;
		worker->corpus[worker->found++].len = tape->at;
	}
}

/* Tapes of a file, all of which a worker plays and mutates. */
static void corpus_read(struct worker *worker, const char *path)
{
	FILE *file = fopen(path, "r");
	struct tape tape;
	int got;

	if (!file)
		die(2, "%s: %s", path, strerror(errno));
	while ((got = tape_read(&tape, file)) > 0) {
		tape.at = tape.len;
		corpus_add(worker, &tape);
	}
	fclose(file);
	if (got < 0)
		die(2, "%s: line %u: not a tape: hexadecimal digits are needed", path,
		    worker->found + 1);
}

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

static void __attribute__((noreturn)) work(struct worker *worker, unsigned int number, double end)
{
	uint64_t random = options.seed + number * 0x2545f4914f6cdd1du;
	unsigned int given = worker->found, played = 0;
	/* each begins elsewhere, so that a short run plays most of them too */
	unsigned int first = number * given / options.workers;
	struct scene scene;
	struct tape tape;

	scene_init(&scene, options.cgroups, options.stub, family, group);
	cover_begin(SCENE_CHILDREN);
	while (!stop && now() < end) {
		if (played < given) {
			tape = worker->corpus[(first + played++) % given];
			tape.at = 0;
		} else if (worker->found && random_next(&random) % 4) {
			tape_mutate(&tape, &worker->corpus[random_next(&random) % worker->found],
				    &worker->corpus[random_next(&random) % worker->found], &random);
		} else {
			tape.len = tape.at = 0;
		}
		tape.random = &random;
		if (play(&scene, &tape, worker))
			corpus_add(worker, &tape);
		if (options.replay && played == given)
			break;
	}
	scene_clear(&scene);
	exit(0);
}

static void print_tapes(const struct worker *workers)
{
	unsigned int i;

	for (i = 0; i < options.workers; i++) {
		printf("# worker %u was playing: ", i);
		tape_write(&workers[i].tape, stdout);
	}
}

static void show(const struct worker *workers, double began)
{
	uint64_t sequences = 0, messages = 0;
	unsigned int i;

	for (i = 0; i < options.workers; i++) {
		sequences += workers[i].sequences;
		messages += workers[i].messages;
	}
	fprintf(options.progress ? stderr : stdout,
		"%s%.0f s: %" PRIu64 " sequences, %" PRIu64
		" random messages, %u places of the module\n",
		options.progress ? "fuzz: " : "# ", now() - began, sequences, messages,
		cover_seen());
}

static void print_file(pid_t pid, const char *name)
{
	char path[64], line[1024];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		printf("#   %s", line);
	if (file)
		fclose(file);
}

/* Where in the kernel a process and its children are; one that runs is nowhere, and its times say more. */
static void print_stack(pid_t pid)
{
	char path[64];
	FILE *file;
	int child;

	print_file(pid, "stat");
	print_file(pid, "stack");
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "r");
	while (file && fscanf(file, "%d", &child) == 1)
		print_stack(child);
	if (file)
		fclose(file);
}

static bool stuck(const struct worker *workers)
{
	unsigned int i;

	for (i = 0; i < options.workers; i++) {
		if (time(NULL) - workers[i].alive <= STUCK_SECONDS)
			continue;
		printf("# worker %u hangs: no sequence ended for %d s\n", i, STUCK_SECONDS);
		print_stack(workers[i].pid);
		return true;
	}
	return false;
}

/* Waits for the end of the workers. Return: whether all went well. */
static bool watch(struct worker *workers, int kmsg, double began)
{
	unsigned int left = options.workers;
	double shown = began;
	bool good = true;
	int status;
	pid_t pid;

	while (left) {
		poll(NULL, 0, 100);
		if (good && (verdict_kernel_complains(kmsg) || stuck(workers))) {
			print_tapes(workers);
			good = false;
			stop = 1;
		}
		if (stop)
			for (unsigned int i = 0; i < options.workers; i++)
				if (workers[i].pid)
					kill(workers[i].pid, good ? SIGTERM : SIGKILL);
		while (left && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
			left--;
			for (unsigned int i = 0; i < options.workers; i++)
				if (workers[i].pid == pid)
					workers[i].pid = 0;
			if (good && status) {
				printf("# a worker ended with status %#x\n", status);
				print_tapes(workers);
				good = false;
				stop = 1;
			}
		}
		if (options.progress && now() > shown + 10) {
			shown = now();
			show(workers, began);
		}
	}
	return good;
}

static const char usage_text[] =
	"usage: fuzz --stub FILE [--seconds S] [--seed N] [--workers N] [--corpus FILE] [--print]\n"
	"            [--replay FILE] [--cgroups DIRECTORY] [--progress]\n"
	"  --stub FILE       a program that agents may name as their stub\n"
	"  --seed N          makes the same choices as the run that printed N\n"
	"  --corpus FILE     tapes to begin with, a line each\n"
	"  --replay FILE     only plays these\n"
	"  --print           at the end, the tapes that found something (\"tape …\") and the places they reached\n"
	"  --progress        a line each ten seconds on standard error\n";

static void parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "seconds", 1, NULL, 's' },
		{ "seed", 1, NULL, 'r' },
		{ "workers", 1, NULL, 'w' },
		{ "corpus", 1, NULL, 'c' },
		{ "replay", 1, NULL, 'R' },
		{ "stub", 1, NULL, 'S' },
		{ "cgroups", 1, NULL, 'g' },
		{ "progress", 0, NULL, 'p' },
		{ "print", 0, NULL, 'P' },
		{ "help", 0, NULL, 'h' },
		{},
	};
	int c;

	options.seed = time(NULL) ^ getpid();
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			options.seconds = atof(optarg);
			break;
		case 'r':
			options.seed = strtoull(optarg, NULL, 0);
			break;
		case 'w':
			options.workers = atoi(optarg);
			break;
		case 'c':
			options.corpus = optarg;
			break;
		case 'R':
			options.replay = optarg;
			options.workers = 1;
			break;
		case 'S':
			options.stub = optarg;
			break;
		case 'g':
			options.cgroups = optarg;
			break;
		case 'p':
			options.progress = true;
			break;
		case 'P':
			options.print = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		default:
			fputs(usage_text, stderr);
			exit(2);
		}
	}
	if (optind < argc || !options.stub || options.seconds <= 0 || !options.workers ||
	    options.workers > WORKERS_MAX) {
		fputs(usage_text, stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct nl_sock *sock = nl_socket_alloc();
	struct worker *workers;
	unsigned int i, t;
	double began;
	bool good;
	int kmsg, id;

	parse(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!sock || genl_connect(sock))
		die(2, "no netlink socket");
	id = genl_ctrl_resolve(sock, EHS_FAMILY_NAME);
	if (id < 0)
		die(2, "no family %s: is the module loaded?", EHS_FAMILY_NAME);
	family = id;
	group = genl_ctrl_resolve_grp(sock, EHS_FAMILY_NAME, EHS_MCGRP_NODE);
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		die(2, "/dev/kmsg: %s", strerror(errno));
	printf("# seed %" PRIu64 "; %s\n", options.seed,
	       cover_init("ehsched") ? "guided by coverage" : "no KCOV: random");
	workers = mmap(NULL, options.workers * sizeof(*workers), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (workers == MAP_FAILED)
		die(2, "no memory");
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);

	scene_make_programs();
	began = now();
	for (i = 0; i < options.workers; i++) {
		if (options.corpus || options.replay)
			corpus_read(&workers[i], options.replay ? options.replay : options.corpus);
		workers[i].alive = time(NULL);
		workers[i].pid = fork();
		if (!workers[i].pid)
			work(&workers[i], i, began + options.seconds);
		if (workers[i].pid < 0)
			die(2, "fork: %s", strerror(errno));
	}
	good = watch(workers, kmsg, began);
	scene_remove_programs();
	options.progress = false;
	show(workers, began);
	good = good && verdict_nothing_left(sock, family) && verdict_set_back(sock, family);
	if (verdict_kernel_complains(kmsg))
		good = false;
	if (options.print) {
		for (i = 0; i < options.workers; i++)
			for (t = 0; t < workers[i].found; t++) {
				printf("tape ");
				tape_write(&workers[i].corpus[t], stdout);
			}
		cover_print(stdout);
	}
	nl_socket_free(sock);
	return !good;
}
