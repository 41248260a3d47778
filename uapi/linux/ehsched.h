/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	uapi/ehsched.yaml */
/* YNL-GEN uapi header */
/* To regenerate run: tools/net/ynl/ynl-regen.sh */

#ifndef _UAPI_LINUX_EHSCHED_H
#define _UAPI_LINUX_EHSCHED_H

#define EHS_FAMILY_NAME		"ehsched"
#define EHS_FAMILY_VERSION	1

#define EHS_MAX_CGROUPS		8
#define EHS_MAX_TIME_LIMIT	10000
#define EHS_MAX_REQUESTS	1024
#define EHS_MAX_PROGRAMS	256
#define EHS_MAX_LOAD		1000000000
#define EHS_TOKEN_MAX		63
#define EHS_PATH_MAX		4095
#define EHS_MAX_RSS		1125899906842624
#define EHS_MAX_USAGE		4611686018427387904

/*
 * Receiver when the load has been below threshold - length for the dwell time,
 * sender when it is above threshold + length, else ok.
 */
enum ehs_state {
	EHS_STATE_RECEIVER,
	EHS_STATE_OK,
	EHS_STATE_SENDER,

	/* private: */
	__EHS_STATE_MAX,
	EHS_STATE_MAX = (__EHS_STATE_MAX - 1)
};

/*
 * Runnable threads of the node, managed and guest tasks times the weight, or
 * busy processors of the host.
 */
enum ehs_load_index {
	EHS_INDEX_RUNNABLE,
	EHS_INDEX_TASKS,
	EHS_INDEX_CPU,

	/* private: */
	__EHS_INDEX_MAX,
	EHS_INDEX_MAX = (__EHS_INDEX_MAX - 1)
};

/*
 * run the program here, or put the stub in its place
 */
enum ehs_verdict {
	EHS_VERDICT_LOCAL,
	EHS_VERDICT_REMOTE,

	/* private: */
	__EHS_VERDICT_MAX,
	EHS_VERDICT_MAX = (__EHS_VERDICT_MAX - 1)
};

/**
 * enum ehs_task_state - where a task of a managed cgroup, or of another node,
 *   runs
 * @EHS_TASK_LOCAL: a managed task that runs on its own node
 * @EHS_TASK_PENDING: waits for a verdict in exec
 * @EHS_TASK_AWAY: runs on another node; its stub is here
 * @EHS_TASK_GUEST: a task of another node that runs here
 */
enum ehs_task_state {
	EHS_TASK_LOCAL,
	EHS_TASK_PENDING,
	EHS_TASK_AWAY,
	EHS_TASK_GUEST,

	/* private: */
	__EHS_TASK_MAX,
	EHS_TASK_MAX = (__EHS_TASK_MAX - 1)
};

/**
 * enum ehs_reason - Why a task runs where it runs. The kernel gives the
 *   reasons up to redirect and those from no-new-privs on. Those between come
 *   from user space, in verdicts.
 * @EHS_REASON_NONE: no reason was given
 * @EHS_REASON_NOT_SENDER: the node was not overloaded
 * @EHS_REASON_SETUID: the program is set-user-ID or set-group-ID
 * @EHS_REASON_FILE_CAPS: the program has file capabilities
 * @EHS_REASON_TRACED: the task is traced
 * @EHS_REASON_OPEN_FILES: a descriptor above 2 would survive the exec that
 *   cannot be carried
 * @EHS_REASON_NAMESPACE: who registered the agent had another namespace, other
 *   than the network's, or another root directory
 * @EHS_REASON_CONFINED: the task runs under a seccomp filter, or another limit
 *   that it cannot undo
 * @EHS_REASON_STUB: the program is the stub
 * @EHS_REASON_PLACED: the task was placed before, and is not placed again
 * @EHS_REASON_BYPASS: the agent has asked not to place this exec
 * @EHS_REASON_GUEST: a guest is never sent on
 * @EHS_REASON_NO_AGENT: no agent is registered
 * @EHS_REASON_AGENT_GONE: the agent's socket closed while the request waited
 * @EHS_REASON_TIME_OUT: no verdict within the time limit
 * @EHS_REASON_KILLED: the task was killed while it waited
 * @EHS_REASON_NO_MEMORY: no memory for the request
 * @EHS_REASON_QUEUE_FULL: the agent's socket or the table of requests was full
 * @EHS_REASON_UNLOADING: the module was being removed, or the namespace ended
 * @EHS_REASON_REDIRECT: the stub could not be put in place, or no other
 *   process can find the program by its path, or it has no known format
 * @EHS_REASON_SENDER: transferred because its own node was overloaded
 * @EHS_REASON_EXPLICIT: the user named the node
 * @EHS_REASON_AUTO: the user asked for a placement
 * @EHS_REASON_NO_RECEIVER: no node of the cluster could take the task
 * @EHS_REASON_NO_CONTROLLER: no node that knows the load of others could be
 *   reached
 * @EHS_REASON_EXCLUDED: by the site's rules this program is not transferred
 * @EHS_REASON_UNREACHABLE: the chosen node did not answer
 * @EHS_REASON_REFUSED: the chosen node refused for another reason
 * @EHS_REASON_FILES_DIFFER: the program or working directory is not the same
 *   on the chosen node
 * @EHS_REASON_NO_HEADROOM: the chosen node had too little free memory
 * @EHS_REASON_GUEST_LIMIT: the chosen node had as many guests as it takes
 * @EHS_REASON_ROOT_REFUSED: the chosen node does not run tasks of root
 * @EHS_REASON_UNKNOWN_USER: the user is not the same on the chosen node
 * @EHS_REASON_DRAINING: the chosen node takes no new tasks, or its own sends
 *   none
 * @EHS_REASON_LEASE_OVER: the reservation was not used in time
 * @EHS_REASON_START_FAILED: the chosen node could not start the program
 * @EHS_REASON_LOST: the connection to the chosen node broke after the start
 * @EHS_REASON_NO_MODULE: placed without the kernel module
 * @EHS_REASON_NO_NEW_PRIVS: the task has no_new_privs, and the node keeps such
 *   tasks
 * @EHS_REASON_SECUREEXEC: the program would start in secure mode, as with a
 *   real user that is not the effective one
 * @EHS_REASON_LANDLOCK: the task is in a Landlock domain
 * @EHS_REASON_LSM: a security module has another domain for the task or the
 *   program than for the agent
 * @EHS_REASON_CGROUP_BPF: the task's cgroup has BPF programs that the guest
 *   cgroup does not have
 * @EHS_REASON_CAPABILITIES: the task has not the capabilities that its user
 *   has by default
 * @EHS_REASON_AGENT_SLOW: the agent has let several execs wait in vain; it is
 *   not asked for a while
 * @EHS_REASON_SHARED: another process shares the root and the working
 *   directory of the task (CLONE_FS)
 * @EHS_REASON_MOVED: the task was moved out of the managed cgroups while it
 *   waited for the verdict
 * @EHS_REASON_INIT: it is the init process of a pid namespace, or one waits in
 *   vfork() until the exec is over
 * @EHS_REASON_STAYS: the agent has named the program as one that stays, and
 *   was not asked
 */
enum ehs_reason {
	EHS_REASON_NONE,
	EHS_REASON_NOT_SENDER,
	EHS_REASON_SETUID,
	EHS_REASON_FILE_CAPS,
	EHS_REASON_TRACED,
	EHS_REASON_OPEN_FILES,
	EHS_REASON_NAMESPACE,
	EHS_REASON_CONFINED,
	EHS_REASON_STUB,
	EHS_REASON_PLACED,
	EHS_REASON_BYPASS,
	EHS_REASON_GUEST,
	EHS_REASON_NO_AGENT,
	EHS_REASON_AGENT_GONE,
	EHS_REASON_TIME_OUT,
	EHS_REASON_KILLED,
	EHS_REASON_NO_MEMORY,
	EHS_REASON_QUEUE_FULL,
	EHS_REASON_UNLOADING,
	EHS_REASON_REDIRECT,
	EHS_REASON_SENDER,
	EHS_REASON_EXPLICIT,
	EHS_REASON_AUTO,
	EHS_REASON_NO_RECEIVER,
	EHS_REASON_NO_CONTROLLER,
	EHS_REASON_EXCLUDED,
	EHS_REASON_UNREACHABLE,
	EHS_REASON_REFUSED,
	EHS_REASON_FILES_DIFFER,
	EHS_REASON_NO_HEADROOM,
	EHS_REASON_GUEST_LIMIT,
	EHS_REASON_ROOT_REFUSED,
	EHS_REASON_UNKNOWN_USER,
	EHS_REASON_DRAINING,
	EHS_REASON_LEASE_OVER,
	EHS_REASON_START_FAILED,
	EHS_REASON_LOST,
	EHS_REASON_NO_MODULE,
	EHS_REASON_NO_NEW_PRIVS,
	EHS_REASON_SECUREEXEC,
	EHS_REASON_LANDLOCK,
	EHS_REASON_LSM,
	EHS_REASON_CGROUP_BPF,
	EHS_REASON_CAPABILITIES,
	EHS_REASON_AGENT_SLOW,
	EHS_REASON_SHARED,
	EHS_REASON_MOVED,
	EHS_REASON_INIT,
	EHS_REASON_STAYS,

	/* private: */
	__EHS_REASON_MAX,
	EHS_REASON_MAX = (__EHS_REASON_MAX - 1)
};

enum {
	EHS_A_NODE_LOAD = 1,
	EHS_A_NODE_THRESHOLD,
	EHS_A_NODE_THRESHOLD_LENGTH,
	EHS_A_NODE_STATE,
	EHS_A_NODE_LOAD_INDEX,
	EHS_A_NODE_WEIGHT,
	EHS_A_NODE_TIME_LIMIT,
	EHS_A_NODE_DWELL,
	EHS_A_NODE_MANAGED_CGROUP_FD,
	EHS_A_NODE_GUEST_CGROUP_FD,
	EHS_A_NODE_MANAGED_CGROUP_ID,
	EHS_A_NODE_GUEST_CGROUP_ID,
	EHS_A_NODE_CLEAR_CGROUPS,
	EHS_A_NODE_NETNS,
	EHS_A_NODE_AGENT_PORT,
	EHS_A_NODE_TASKS_LOCAL,
	EHS_A_NODE_TASKS_GUEST,
	EHS_A_NODE_TASKS_AWAY,
	EHS_A_NODE_PENDING,
	EHS_A_NODE_COUNTER,
	EHS_A_NODE_PAD,
	EHS_A_NODE_NO_NEW_PRIVS,
	EHS_A_NODE_ALWAYS_CGROUP_FD,
	EHS_A_NODE_ALWAYS_CGROUP_ID,
	EHS_A_NODE_MAX_TIME_LIMIT,
	EHS_A_NODE_MAX_REQUESTS,
	EHS_A_NODE_LOAD_AGE,
	EHS_A_NODE_PROCESSORS,

	__EHS_A_NODE_MAX,
	EHS_A_NODE_MAX = (__EHS_A_NODE_MAX - 1)
};

enum {
	EHS_A_COUNTER_REASON = 1,
	EHS_A_COUNTER_COUNT,
	EHS_A_COUNTER_PAD,

	__EHS_A_COUNTER_MAX,
	EHS_A_COUNTER_MAX = (__EHS_A_COUNTER_MAX - 1)
};

enum {
	EHS_A_AGENT_STUB = 1,
	EHS_A_AGENT_STUB_FD,
	EHS_A_AGENT_PROGRAM_FD,

	__EHS_A_AGENT_MAX,
	EHS_A_AGENT_MAX = (__EHS_A_AGENT_MAX - 1)
};

enum {
	EHS_A_PLACE_COOKIE = 1,
	EHS_A_PLACE_PID,
	EHS_A_PLACE_UID,
	EHS_A_PLACE_PATH,
	EHS_A_PLACE_CGROUP_ID,
	EHS_A_PLACE_LOAD,
	EHS_A_PLACE_TIME_LIMIT,
	EHS_A_PLACE_VERDICT,
	EHS_A_PLACE_REASON,
	EHS_A_PLACE_TOKEN,
	EHS_A_PLACE_PAD,

	__EHS_A_PLACE_MAX,
	EHS_A_PLACE_MAX = (__EHS_A_PLACE_MAX - 1)
};

enum {
	EHS_A_TASK_ID = 1,
	EHS_A_TASK_PID,
	EHS_A_TASK_UID,
	EHS_A_TASK_STATE,
	EHS_A_TASK_REASON,
	EHS_A_TASK_COMMAND,
	EHS_A_TASK_STARTED,
	EHS_A_TASK_CGROUP_ID,
	EHS_A_TASK_PAD,
	EHS_A_TASK_USER_TIME,
	EHS_A_TASK_SYSTEM_TIME,
	EHS_A_TASK_MAX_RSS,
	EHS_A_TASK_MIN_FAULTS,
	EHS_A_TASK_MAJ_FAULTS,
	EHS_A_TASK_VOLUNTARY_SWITCHES,
	EHS_A_TASK_INVOLUNTARY_SWITCHES,
	EHS_A_TASK_START_TIME,

	__EHS_A_TASK_MAX,
	EHS_A_TASK_MAX = (__EHS_A_TASK_MAX - 1)
};

enum {
	EHS_CMD_NODE_GET = 1,
	EHS_CMD_NODE_SET,
	EHS_CMD_NODE_NTF,
	EHS_CMD_AGENT_REGISTER,
	EHS_CMD_PLACE_REQUEST,
	EHS_CMD_PLACE_VERDICT,
	EHS_CMD_TASK_GET,
	EHS_CMD_TASK_BYPASS,
	EHS_CMD_TASK_ACCOUNT,
	EHS_CMD_TASK_AWAY,
	EHS_CMD_TASK_ELIGIBLE,
	EHS_CMD_PROGRAMS_SET,

	__EHS_CMD_MAX,
	EHS_CMD_MAX = (__EHS_CMD_MAX - 1)
};

#define EHS_MCGRP_NODE	"node"

#endif /* _UAPI_LINUX_EHSCHED_H */
