/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file job.h
 * Everything that is sent with a task to another node, and its encoding as the
 * payload of FRAME_JOB: a version, little-endian numbers,
 * then the terminal if there is one, open files if there are any (their numbers,
 * the files, the descriptors), groups, and the strings, each terminated by a NUL. The stub encodes, the agents decode. No I/O, and for the sake of the
 * stub nothing but libc.
 */
#ifndef WIRE_JOB_H
#define WIRE_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "terminal.h"

#define JOB_OLDEST 3u /**< versions that are decoded */
#define JOB_NEWEST 4u
#define JOB_RLIMITS 16
#define JOB_GROUPS_MAX 65536
#define JOB_FILES_MAX 32 /**< open files besides those of the usual descriptors 0-2 */
#define JOB_DESCRIPTORS_MAX 128 /**< that lead to them, or are duplicates of 0-2 */
#define JOB_NUMBER_MAX 1048575 /**< of a descriptor */

/** job_spec.flags */
#define JOB_FD(n) (1u << (n)) /**< descriptor n of 0-2 is open */
#define JOB_TTY(n) (8u << (n)) /**< descriptor n is the caller's controlling terminal */
#define JOB_TTYS 56u /**< any of them */
#define JOB_NO_NEW_PRIVS 64u /**< set by the home agent, as the kernel has it for the stub */
#define JOB_EXPLICIT 128u /**< from `ehctl exec`: a refusal is an error, there is no local run */
#define JOB_MERGED 256u /**< 1 and 2 are one open file: one pipe there keeps the order */
#define JOB_NULL(n) (512u << (n)) /**< descriptor n is /dev/null: the executor opens its own */
/* between stub and home agent */
#define JOB_RETRY 4096u /**< may be run again here if its executor is lost after the start */
#define JOB_BACKGROUND 8192u /**< its process group was not the terminal's foreground group */
#define JOB_VIEW(view) ((uint32_t)(view) << 14) /**< enum view */
#define JOB_VIEW_OF(flags) ((flags) >> 14 & 3)
/* between the two ends */
#define JOB_CTTY 65536u /**< there is a controlling terminal, whether or not one of 0-2 is it */
#define JOB_FLAGS 131071u

#define JOB_RESET_ON_FORK 1ull /**< of JOB_POLICY_FLAGS, as SCHED_FLAG_RESET_ON_FORK */
#define JOB_LOGINUID_UNSET 0xffffffffu /**< nobody has logged in, or there is no audit */

/**
 * Further attributes of a process that the kernel keeps over an exec; a u64
 * each. The home agent asks the kernel for them (agent/job/attributes.c) and
 * ignores what the stub says, except for those that only the process itself can
 * query: subreaper, personality, core filter, timer slack, securebits.
 */
enum job_trait {
	JOB_TRAITS_KNOWN, /**< 1: the others are set; 0: keep those of the executor */
	JOB_POLICY, /**< SCHED_*, and the other members of struct sched_attr */
	JOB_POLICY_FLAGS,
	JOB_PRIORITY,
	JOB_RUNTIME, /**< nanoseconds, like the next two */
	JOB_DEADLINE,
	JOB_PERIOD,
	JOB_CPUS, /**< number of processors it may use; 0: all */
	JOB_IOPRIO, /**< as from ioprio_get() */
	JOB_TIMER_SLACK, /**< nanoseconds; 0: the default */
	JOB_NO_HUGE_PAGES,
	JOB_PERSONALITY,
	JOB_OOM_SCORE, /**< oom_score_adj + 1000 */
	JOB_CORE_FILTER,
	JOB_CAP_INHERITABLE, /**< bit c for capability c */
	JOB_CAP_BOUNDING,
	JOB_CAP_AMBIENT,
	JOB_SECUREBITS, /**< from the stub; only for root */
	JOB_SUBREAPER, /**< from the stub */
	JOB_TRAITS
};

/**
 * An open file (not a descriptor: several may lead to it) of which more is to be known than flags say.
 * Descriptors 0 to 2 have JOB_FD() and no such file, if they are the terminal, /dev/null, a pipe in
 * one direction, or what the executor's end makes one of.
 */
enum job_file_kind {
	JOB_STREAM, /**< a pipe, a FIFO; or a file whose bytes are carried, because only home can see it */
	JOB_SOCKET, /**< a connected socket that is a stream */
	JOB_REAL, /**< a file or directory, which the executor's end opens if it is the same there */
	JOB_DEVICE, /**< a device of memory: `ino` is its minor number */
	JOB_FILE_KINDS
};

/** job_file.flags. The numbers of O_… depend on the architecture. */
#define JOB_OPEN_READ 1u
#define JOB_OPEN_WRITE 2u
#define JOB_OPEN_APPEND 4u
#define JOB_OPEN_NONBLOCK 8u
#define JOB_OPEN_SYNC 16u
#define JOB_OPEN_DSYNC 32u
#define JOB_OPEN_DIRECT 64u
#define JOB_OPEN_NOATIME 128u
#define JOB_OPEN_TOKENS 256u /**< of make's jobserver: taken one by one */
/** In MAKEFLAGS of the job, with the number of a descriptor behind it: tokens are in a FIFO at home. The executor's end names
 *  one of its own. To one that does not know this it is a path, too. */
#define JOB_TOKENS_FIFO "--jobserver-auth=fifo:"
#define JOB_TOKENS_PATH JOB_TOKENS_FIFO "/proc/self/fd/"
#define JOB_OPEN_OR_STREAM 512u /**< JOB_REAL: if it is not the same there, its bytes are carried */
#define JOB_OPEN_HERE 1024u /**< JOB_REAL: nor if the two hosts only share a file system */
#define JOB_OPEN_FLAGS 2047u

struct job_file {
	uint32_t kind, flags;
	uint64_t offset, ino;
	const char *place; /**< its file system, helpers/end/place.h; "" unless it is JOB_REAL */
	const char *path;
};

/** One descriptor of such a file; or of a usual one (0-2), or of the terminal (3). */
struct job_descriptor {
	uint32_t number;
	uint32_t channel; /**< job/message.h */
};

/**
 * The strings of a decoded specification point into the decoded buffer. The
 * agent ignores uid, gid, groups and loginuid in the message of a stub. It takes
 * them from the peer credentials of the socket, and the last from that process.
 */
struct job_spec {
	uint32_t flags;
	uint32_t umask;
	int32_t nice;
	uint32_t uid, gid;
	uint32_t loginuid; /**< who logged in, for audit; or JOB_LOGINUID_UNSET */
	uint32_t ngroups;
	const uint32_t *groups;
	uint64_t rlimit[JOB_RLIMITS][2]; /**< soft, hard; ~0 for none */
	uint64_t sigmask, sigignore; /**< bit s-1 for signal s */
	struct terminal terminal; /**< only with JOB_CTTY */
	uint64_t traits[JOB_TRAITS]; /**< by enum job_trait */
	/**
	 * From a stub: the placement's number, "@CODE", "@auto" or "@all". Between agents: names the
	 * reservation.
	 */
	const char *token;
	const char *path; /**< program as passed to exec */
	const char *cwd;
	uint32_t argc, envc;
	const char **argv, **envp; /**< NULL-terminated; allocated by job_decode */
	uint32_t nfiles, ndescriptors;
	const struct job_file *files; /**< file i has channel JOB_CHANNEL_FILES + i */
	const struct job_descriptor *descriptors; /**< by ascending numbers */
};

/** Returns the bytes that job_encode() will write, 0 if above FRAME_JOB_MAX. */
size_t job_encoded_size(const struct job_spec *spec);
/** `out` has room for job_encoded_size() bytes. */
void job_encode(const struct job_spec *spec, uint8_t *out);

/** The version of an encoded job, which another build may have made; 0: too short for one. */
uint32_t job_version(const uint8_t *in, size_t length);
/** Returns 0, or on failure, with nothing to free, -EBADMSG (malformed) or -ENOMEM. `in` must outlive
 *  the specification. */
int job_decode(struct job_spec *spec, const uint8_t *in, size_t length);
void job_free(struct job_spec *spec);

#endif
