/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file agent.h
 * The agent's parts and how they call each other. One thread, one event loop;
 * the digest worker of files.c is the only other thread.
 *
 *   config.c    configuration file            knl.c      netlink side of the module
 *   tls.c h2.c stream.c  TLS, HTTP/2          procload.c load without the module
 *   request.c   JSON asks to peers       node.c     load, threshold, state from either
 *   server.c    the listening side            peer.c link.c  the nodes, a connection to each
 *   join.c      getting a place in the cluster, before anything else
 *   enrol.c     letting others in; roster.c, the table of hosts and codes; state.c, kept on disk
 *   leave.c     leaving for good
 *   control.c   this node in the hierarchy: drives lib/eh/member.h; message.c, its messages as JSON
 *   ask.c  asks of this node             gather.c   the whole tree, for status and tree
 *   placement.c a task's way out of here: ask, reserve, verdict
 *   record.c    placements on record, for `tasks` and `why`
 *   departure.c its job is filled in and sent
 *   handoff.c stub.c  a task that is away: the job stream at home, its stub
 *   rerun.c     a lost task is run again at home, where the user allows it
 *   reserve.c   reservations: the executor has the last word
 *   guest.c     guests: the executor's side of a job stream
 *   launch.c pipes.c  fork, credentials, exec of a guest; its descriptors
 *   leader.c    the process between agent and a guest with a terminal
 *   pty.c reader.c  a guest's pseudo-terminal; does it wait for input?
 *   terminal.c  the terminal of a task that is away
 *   relay.c     bytes between descriptors and frames, bounded
 *   channel.c   frames over a job's stream
 *   files.c named.c   are they the same program, folder, named files there?
 *   view.c view_mount.c tunnel.c view_serve.c   home's files on the executor
 *   cgroup.c    sessions and guests below the node's cgroup
 *   local.c     the unix socket              api.c doctor.c  ehctl's requests
 */
#ifndef AGENT_BASE_AGENT_H
#define AGENT_BASE_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <event2/event.h>
#include <jansson.h>
#include <linux/ehsched.h>
#include "eh/member.h"
#include "base/config.h"
#include "net/peer.h"
#include "wire/view.h"

struct agent {
	struct event_base *base;
	struct config *config; /* swapped by a reload: do not keep pointers into it */
	bool member; /* has its place in the cluster; until then only join.c is at work */
	struct eh_code self;
	char code[EH_CODE_TEXT];
	bool module; /* the netlink family is there and we are registered */
	bool draining; /* takes no new guests */
	int nice, oom_score_adj; /* as we were started; guests get these, not ours */
};
extern struct agent agent; /* one a process */

/* ---- placement.c: called by knl.c and departure.c, calls control.c and peers ---- */

/** What is known of the task when a placement is asked for. */
struct placement_task {
	uint64_t cookie; /* kernel's, or 0: a number of the agent's own */
	pid_t pid; /* for /proc/PID/cwd, credentials */
	uid_t uid;
	const char *path; /* program */
	uint64_t cgroup_id;
	unsigned int time_ms; /* the answer must be there by then */
	const char *node; /* NULL: ask the hierarchy; else this code */
	enum view view; /* VIEW_UNSET: its session's, or the site's */
};

struct placement; /* id, executor, token, reason, steps; kept by record.c */

/** `decided` is called exactly once, perhaps at once: `to` is NULL when the task stays. */
typedef void (*placement_fn)(void *ctx, struct placement *p, struct peer *to, const char *token,
			     enum ehs_reason reason);
int placement_start(const struct placement_task *task, placement_fn decided, void *ctx);
/** The reservation behind a token this node's stubs bring; NULL: unknown or over. */
struct placement *placement_by_token(const char *token);
struct peer *placement_executor(const struct placement *p);
/** Whose task it is: a stub of another user may not use its token. */
uid_t placement_uid(const struct placement *p);
/** Whose files it sees: known once it is decided. AUTO: the executor's, unless what it names differs. */
enum view placement_view(const struct placement *p);
/** A sentence on why it ended as it did; never NULL. */
const char *placement_text(const struct placement *p);
const char *placement_id(const struct placement *p); /* "0.1:42" */
/** What became of it: for `tasks`, `why`, counters and the controller. */
void placement_started(struct placement *p, pid_t stub, pid_t remote);
void placement_failed(struct placement *p, enum ehs_reason reason); /* ran at home */
void placement_ended(struct placement *p, int status); /* waitpid's, or lost */
void placement_lost(struct placement *p);
void placement_rerun(struct placement *p); /* lost, and runs again at home */

/* ---- guest.c: the executor ---- */

struct h2_stream;
struct h2_stream_ops;
struct server_answer;
/** Handler of POST /v1/reserve; later, as the digest of the program may take a while. */
void reserve_on_request(struct peer *from, const json_t *body, struct server_answer *answer);
/** Handler of POST /v1/job. */
int guest_job(struct peer *from, struct h2_stream *s, const struct h2_stream_ops **ops, void **ctx);
/** Load reserved but not yet started, in thousandths; ids of reservations since the last call. */
uint64_t reserve_load(void);
json_t *reserve_take_seen(void);
unsigned int guest_count(void);
void guest_shutdown(void); /* the agent ends: kills all guests */
void guest_list(json_t *tasks); /* appends entries of `tasks --json` */

/* ---- handoff.c ---- */

/** A stub has connected and sent this job; takes over the socket and the descriptors (-1: closed at home). */
void handoff_start(int socket, const uint8_t *job, size_t length, int fds[3], pid_t pid, uid_t uid,
		   gid_t gid);
unsigned int handoff_count(void);

/* ---- cgroup.c ---- */

int cgroup_init(const char *root); /* makes managed/ and guest/; 0 or -errno */
int cgroup_managed_fd(void);
int cgroup_guest_fd(void);
/** New managed session with this process in it; its name into `name`. */
int cgroup_session(pid_t pid, const char *wish, bool retry, enum view view, char name[64]);
/** Whether this process is in a session whose lost tasks may be run again. */
bool cgroup_session_retries(pid_t pid);
/** The view that its session was given, or VIEW_UNSET. */
enum view cgroup_session_view(pid_t pid);
/** Folder for one guest; freed (killed, removed) by cgroup_guest_end(). */
int cgroup_guest_begin(const char *id); /* descriptor of the folder, for CLONE_INTO_CGROUP */
void cgroup_guest_kill(const char *id);
void cgroup_guest_end(const char *id);
/** guest.c: nothing is left in this guest's folder (called from the loop). */
void guest_emptied(const char *id);

/* ---- files.c ---- */

/** Identity of a program and a folder as seen here, as JSON for /v1/reserve. `done` is
 *  called once, at once if the digest is cached; NULL when it could not be read. */
typedef void (*files_fn)(void *ctx, json_t *identity);
void files_program(const char *path, pid_t pid, files_fn done, void *ctx);
json_t *files_folder(const char *path_or_proc_cwd);
bool files_same_folder(const json_t *there, const char *path);
/** Whether `path` is here what `there` says; `done` once, at once when it is known. */
typedef void (*files_same_fn)(void *ctx, bool same);
void files_same_program(const json_t *there, const char *path, files_same_fn done, void *ctx);

/* ---- control.c ---- */

/** The hierarchy's answer to "who takes it?"; done exactly once. */
struct ask_answer {
	struct peer *to; /**< NULL: it stays, for `reason` */
	enum ehs_reason reason;
	unsigned int probes; /**< controllers looked at */
	const struct eh_probe *path; /**< they; the last has decided */
	size_t npath;
};
typedef void (*ask_fn)(void *ctx, const struct ask_answer *answer);
void ask_start(const char *id, uint64_t size, struct peer *const *tried, unsigned int ntried,
	       unsigned int time_ms, ask_fn done, void *ctx);
void ask_failed(const char *id, struct peer *to, const struct eh_probe *decider);
/** Load or number of guests changed: report if it matters. */
void hierarchy_touch(void);

/* ---- enrol.c ---- */

/** Of this agent's roster: grows with each change; control's messages carry it. */
uint64_t enrol_version(void);
/** Exchanges rosters with a peer that has a newer one. */
void enrol_pull(struct peer *from);

/* ---- main.c ---- */

/** Ends the agent in order, from the event loop, with this exit status. */
void agent_end(int status);

/* ---- local.c / api.c ---- */

/** Sends an event to all `ehctl watch`; steals `members`. */
void commands_event(const char *event, json_t *members);

/* ---- log.c ---- */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
void log_message(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
