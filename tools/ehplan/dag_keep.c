// SPDX-License-Identifier: GPL-2.0-or-later
/* The keeper: a process that starts the tasks, and lives on when ehctl is killed, so that their ends
 * are written down. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dag_run.h"
#include "journal.h"
#include "remote.h"

struct order {
	uint32_t task, slot;
	int signal; /* for the task; 0: it is to be started */
};

struct keeper {
	struct dag_run *run;
	int orders, sync;
	uint32_t running;
	bool closed; /* nothing more is to be started */
};

static void tell(const struct dag_run *run, uint32_t task)
{
	/* nobody may be there any more to be told */
	if (write(run->ends[1], &task, sizeof(task)) < 0)
		return;
}

/* ---- to disk ---- */

/* A process of its own syncs what is in the journal by then, for each byte or for several. */
static int start_sync(const struct dag_run *run)
{
	char bytes[512];
	int p[2];
	pid_t pid;

	if (pipe2(p, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid) {
		close(p[0]);
		return p[1];
	}
	close(p[1]);
	while (read(p[0], bytes, sizeof(bytes)) > 0)
		journal_sync(run->journal);
	_exit(EXIT_DONE);
}

/* ---- tasks ---- */

static void end(struct keeper *k, uint32_t task, int status)
{
	struct dag_run *run = k->run;
	struct dag_note *note = &run->notes[task];
	const char *host = run->cluster.hosts[run->slots[run->tasks[task].slot].host].name;

	note->finish = progress_now();
	note->status = status;
	note->ended = !journal_write(run->journal, dag_task_name(run->work.graph, task),
				     run->work.key[task], host, remote_code(status),
				     note->finish - note->start);
	note->over = true;
	run->slots[run->tasks[task].slot].task = DAG_RUN_NOWHERE;
	k->running--;
	/* what waits for it may start; only a power failure could still make it run twice */
	tell(run, task);
	if (write(k->sync, "", 1) < 0)
		journal_sync(run->journal);
}

static void obey(struct keeper *k, const struct order *o)
{
	const struct remote_files files = { -1, k->run->quiet ? STDERR_FILENO : STDOUT_FILENO,
					    STDERR_FILENO };
	struct dag_run *run = k->run;
	struct dag_slot *slot = &run->slots[o->slot];
	struct dag_note *note = &run->notes[o->task];

	if (o->signal) {
		if (slot->task == o->task)
			kill(-note->pid, o->signal);
		return;
	}
	note->start = progress_now();
	note->pid = remote_start(&run->cluster.hosts[slot->host], run->view,
				 run->work.argv[o->task], &files);
	if (note->pid < 0) {
		fail(0, "%s: cannot start it: %s", dag_task_name(run->work.graph, o->task),
		     strerror(-note->pid));
		note->over = true;
		tell(run, o->task);
		return;
	}
	run->tasks[o->task].slot = o->slot;
	slot->task = o->task;
	k->running++;
}

static void take_orders(struct keeper *k)
{
	struct order o;
	ssize_t n;

	while ((n = recv(k->orders, &o, sizeof(o), MSG_DONTWAIT)) == sizeof(o))
		obey(k, &o);
	k->closed = !n;
}

static void take_ends(struct keeper *k)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (uint32_t s = 0; s < k->run->nslots; s++) {
			uint32_t task = k->run->slots[s].task;

			if (task == DAG_RUN_NOWHERE || k->run->notes[task].pid != pid)
				continue;
			end(k, task, status);
			break;
		}
}

static void __attribute__((noreturn)) keep(struct dag_run *run, int orders)
{
	struct keeper k = { .run = run, .orders = orders };
	struct signalfd_siginfo info;
	int signals;

	setsid();
	signal(SIGPIPE, SIG_IGN);
	k.sync = start_sync(run);
	signals = remote_signals(SFD_NONBLOCK);
	if (signals < 0)
		_exit(EXIT_REFUSED);
	while (!k.closed || k.running) {
		struct pollfd p[] = { { signals, POLLIN, 0 },
				      { k.closed ? -1 : orders, POLLIN, 0 } };

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			_exit(EXIT_REFUSED);
		/* signals that end others do not end it */
		while (read(signals, &info, sizeof(info)) == sizeof(info))
			;
		take_ends(&k);
		if (p[1].revents)
			take_orders(&k);
	}
	close(k.sync);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	_exit(EXIT_DONE);
}

/* ---- in ehctl ---- */

int dag_keep_start(struct dag_run *run)
{
	int p[2];

	/* unlike a pipe it has no SIGPIPE */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p))
		return fail(EXIT_REFUSED, "socketpair: %s", strerror(errno));
	fflush(NULL);
	run->keeper = fork();
	if (!run->keeper) {
		close(p[1]);
		close(run->ends[0]);
		keep(run, p[0]);
	}
	close(p[0]);
	run->orders = p[1];
	return run->keeper < 0 ? fail(EXIT_REFUSED, "cannot start tasks: %s", strerror(errno)) : 0;
}

void dag_keep_order(const struct dag_run *run, uint32_t task, int signal)
{
	const struct order o = { task, run->tasks[task].slot, signal };

	send(run->orders, &o, sizeof(o), MSG_NOSIGNAL);
}
