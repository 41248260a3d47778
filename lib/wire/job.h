/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file job.h
 * Everything a task takes with it when it runs on another node, and its
 * encoding as the payload of FRAME_JOB: little-endian numbers in the order of
 * the structure, then the terminal if it has one, groups, and the strings, each
 * ended by a NUL. Used by the stub (encode) and the agents (decode). Pure, and
 * nothing but libc, because the stub is static.
 */
#ifndef WIRE_JOB_H
#define WIRE_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "terminal.h"

#define JOB_RLIMITS 16
#define JOB_GROUPS_MAX 65536

/** job_spec.flags */
#define JOB_FD(n) (1u << (n)) /**< descriptor n of 0-2 is open */
#define JOB_TTY(n) (8u << (n)) /**< it is the caller's controlling terminal */
#define JOB_TTYS 56u /**< any of them */
#define JOB_NO_NEW_PRIVS 64u
#define JOB_EXPLICIT 128u /**< from `ehctl exec`: a refusal is an error, no local run */
/* set by the home agent, which has the descriptors in hand */
#define JOB_MERGED 256u /**< 1 and 2 are one open file: one pipe there, so that order stays */
#define JOB_NULL(n) (512u << (n)) /**< descriptor n is /dev/null: the executor's own is used */
/* between stub and home agent */
#define JOB_RETRY 4096u /**< may be run again here when its executor is lost after the start */
#define JOB_BACKGROUND 8192u /**< its process group was not the terminal's foreground group */
#define JOB_VIEW(view) ((uint32_t)(view) << 14) /**< enum view */
#define JOB_VIEW_OF(flags) ((flags) >> 14 & 3)
#define JOB_FLAGS 65535u

/**
 * What else the kernel keeps of a process and passes on over an exec, a u64
 * each. The home agent asks the kernel (agent/job/attributes.c) and ignores what
 * the stub says, except for the two that only the process itself can ask for.
 */
enum job_trait {
	JOB_TRAITS_KNOWN, /**< 1: the rest is set; 0: the executor's own are kept */
	JOB_POLICY, /**< SCHED_*, and the other members of struct sched_attr */
	JOB_POLICY_FLAGS,
	JOB_PRIORITY,
	JOB_RUNTIME, /**< nanoseconds, as the next two */
	JOB_DEADLINE,
	JOB_PERIOD,
	JOB_CPUS, /**< number of processors it may use; 0: all */
	JOB_IOPRIO, /**< as ioprio_get() gives it */
	JOB_TIMER_SLACK, /**< nanoseconds; 0: the default */
	JOB_NO_HUGE_PAGES,
	JOB_PERSONALITY,
	JOB_OOM_SCORE, /**< oom_score_adj + 1000 */
	JOB_CORE_FILTER,
	JOB_CAP_INHERITABLE, /**< bit c for capability c */
	JOB_CAP_BOUNDING,
	JOB_CAP_AMBIENT,
	JOB_SECUREBITS, /**< from the stub; root's only */
	JOB_SUBREAPER, /**< from the stub */
	JOB_TRAITS
};

/**
 * Strings of a decoded specification point into the decoded buffer.
 * uid, gid and groups in a stub's message are ignored: the agent fills them
 * from the socket's peer credentials.
 */
struct job_spec {
	uint32_t flags;
	uint32_t umask;
	int32_t nice;
	uint32_t uid, gid;
	uint32_t ngroups;
	const uint32_t *groups;
	uint64_t rlimit[JOB_RLIMITS][2]; /**< soft, hard; ~0 for none */
	uint64_t sigmask, sigignore; /**< bit s-1 for signal s */
	struct terminal terminal; /**< only with one of JOB_TTYS */
	uint64_t traits[JOB_TRAITS]; /**< by enum job_trait */
	const char *token; /**< reservation, or "@CODE", or "@auto" */
	const char *path; /**< program as given to exec */
	const char *cwd;
	uint32_t argc, envc;
	const char **argv, **envp; /**< NULL-terminated; allocated by job_decode */
};

/** Bytes job_encode() will write, or 0 if that is above FRAME_JOB_MAX. */
size_t job_encoded_size(const struct job_spec *spec);
void job_encode(const struct job_spec *spec, uint8_t *out);

/** 0, -EBADMSG (malformed), -ENOMEM. `in` must outlive the specification. */
int job_decode(struct job_spec *spec, const uint8_t *in, size_t length);
void job_free(struct job_spec *spec);

#endif
