// SPDX-License-Identifier: GPL-2.0-or-later
#include "reason.h"

#include <errno.h>
#include <string.h>

struct reason {
	const char *name, *text;
};

/* Sentences read better at one margin. */
/* clang-format off */
static const struct reason reasons[] = {
	[EHS_REASON_NONE] = { "none", "Nothing has been decided about this task." },
	[EHS_REASON_NOT_SENDER] = { "not-sender",
		"It runs at home because the node was not overloaded: its load was not above "
		"threshold + length." },
	[EHS_REASON_SETUID] = { "setuid",
		"It runs at home because the program is set-user-id or set-group-id; such "
		"programs are never transferred." },
	[EHS_REASON_FILE_CAPS] = { "file-caps",
		"It runs at home because the program has file capabilities; such programs are "
		"never transferred." },
	[EHS_REASON_TRACED] = { "traced",
		"It runs at home because a debugger or tracer is attached to it." },
	[EHS_REASON_OPEN_FILES] = { "open-files",
		"It runs at home because it would inherit an open descriptor above 2 which cannot be "
		"carried to another node (epoll, event, memory, a listening socket and the like); "
		"close it before the exec, or make it close-on-exec." },
	[EHS_REASON_NAMESPACE] = { "namespace",
		"It runs at home because one of its namespaces (other than the network's) or its "
		"root directory is not that of the agent." },
	[EHS_REASON_CONFINED] = { "confined",
		"It runs at home because it is under a seccomp filter or another limit that it cannot "
		"undo, which cannot be carried to another node." },
	[EHS_REASON_STUB] = { "stub",
		"It runs at home because it is the stub of a task that is away." },
	[EHS_REASON_PLACED] = { "placed",
		"It runs where it is because it was placed before; a task is placed at most once." },
	[EHS_REASON_BYPASS] = { "bypass",
		"It runs at home because this exec was exempt from placement, like the command "
		"of `ehctl run` itself; programs that it starts may be transferred." },
	[EHS_REASON_GUEST] = { "guest",
		"It runs here as a guest of another node; guests are never sent on." },
	[EHS_REASON_NO_AGENT] = { "no-agent",
		"It runs at home because no agent was registered with the module; start ehagent." },
	[EHS_REASON_AGENT_GONE] = { "agent-gone",
		"It runs at home because the agent ended while this exec waited for it; see the "
		"agent's log." },
	[EHS_REASON_TIME_OUT] = { "time-out",
		"It runs at home because no verdict came within the time limit; if this is "
		"frequent, raise it with `ehctl set time-limit=MS` or look for slow nodes." },
	[EHS_REASON_KILLED] = { "killed", "It was killed while it waited for a verdict." },
	[EHS_REASON_NO_MEMORY] = { "no-memory",
		"It runs at home because the kernel could not allocate memory for the request." },
	[EHS_REASON_QUEUE_FULL] = { "queue-full",
		"It runs at home because too many placements were in progress." },
	[EHS_REASON_UNLOADING] = { "unloading",
		"It runs at home because the module or the node was being removed." },
	[EHS_REASON_REDIRECT] = { "redirect",
		"It runs at home because the program has no path that other nodes could follow "
		"(as below /proc/self), or no format or interpreter that this kernel runs, or "
		"because the stub could not take its place; check that the task's user may "
		"execute the `stub` of the configuration." },
	[EHS_REASON_SENDER] = { "sender",
		"It was transferred because its home was overloaded and the other node was not." },
	[EHS_REASON_EXPLICIT] = { "explicit", "It runs there because the user named that node." },
	[EHS_REASON_AUTO] = { "auto",
		"It runs there because the user asked for a placement and that node was the best." },
	[EHS_REASON_NO_RECEIVER] = { "no-receiver",
		"It runs at home because no other node could take it: each was as loaded, was "
		"draining, or had refused." },
	[EHS_REASON_NO_CONTROLLER] = { "no-controller",
		"It runs at home because no controller of the group could be reached; "
		"`ehctl doctor` shows which peers are down." },
	[EHS_REASON_EXCLUDED] = { "excluded",
		"It runs at home because `exclude` in the agent's configuration names the program." },
	[EHS_REASON_UNREACHABLE] = { "unreachable",
		"It runs at home because the chosen node did not answer; `ehctl doctor` shows which "
		"peers are down." },
	[EHS_REASON_REFUSED] = { "refused",
		"It runs at home because the chosen node refused it; the agent's log there says more." },
	[EHS_REASON_FILES_DIFFER] = { "files-differ",
		"It runs at home because the program or the working directory is not the same on "
		"the chosen node; share the file system, or install the same version there." },
	[EHS_REASON_NO_HEADROOM] = { "no-headroom",
		"It runs at home because the chosen node had too little free memory; `headroom` in "
		"its configuration sets how much must stay free." },
	[EHS_REASON_GUEST_LIMIT] = { "guest-limit",
		"It runs at home because the chosen node had as many guests as it accepts; "
		"`guests` in its configuration sets how many." },
	[EHS_REASON_ROOT_REFUSED] = { "root-refused",
		"It runs at home because the chosen node does not run root's tasks; set "
		"`allow-root` in its configuration to permit them." },
	[EHS_REASON_UNKNOWN_USER] = { "unknown-user",
		"It runs at home because the user ID does not belong to the same user on the "
		"chosen node; all nodes must have the same users." },
	[EHS_REASON_DRAINING] = { "draining",
		"It runs at home because the chosen node takes no new tasks, or its own sends none; "
		"`ehctl undrain NODE` ends that." },
	[EHS_REASON_LEASE_OVER] = { "lease-over",
		"It runs at home because the reservation was not used in time; if this is frequent, "
		"raise `lease` in the executor's configuration." },
	[EHS_REASON_START_FAILED] = { "start-failed",
		"It runs at home because the chosen node could not start the program." },
	[EHS_REASON_LOST] = { "lost",
		"The connection to the node that ran the task broke after it had started; the "
		"task is reported as killed and was not run again." },
	[EHS_REASON_NO_MODULE] = { "no-module",
		"It was placed without the kernel module, so its later execs stay on the node "
		"where it runs; load ehsched to have them placed too." },
	[EHS_REASON_NO_NEW_PRIVS] = { "no-new-privs",
		"It runs at home because it has no_new_privs, which this node keeps at home." },
	[EHS_REASON_SECUREEXEC] = { "secureexec",
		"It runs at home because it would start in secure mode: its real and effective "
		"user or group differ, or a security module asks for it." },
	[EHS_REASON_LANDLOCK] = { "landlock",
		"It runs at home because it is in a Landlock domain, which cannot be carried to "
		"another node." },
	[EHS_REASON_LSM] = { "lsm",
		"It runs at home because a security module (AppArmor, SELinux, Smack) has a profile "
		"or domain for it or its program that the agent does not have." },
	[EHS_REASON_CGROUP_BPF] = { "cgroup-bpf",
		"It runs at home because its cgroup has BPF programs (a firewall, a list of devices) "
		"that guests are not under." },
	[EHS_REASON_CAPABILITIES] = { "capabilities",
		"It runs at home because it has more or fewer capabilities than its user has by "
		"default, or other securebits." },
	[EHS_REASON_AGENT_SLOW] = { "agent-slow",
		"It runs at home because the agent did not answer several requests in time, and is "
		"not asked for a while; see the agent's log and the load of this node." },
	[EHS_REASON_SHARED] = { "shared",
		"It runs at home because another process shares its root and working directory "
		"(CLONE_FS) and could change them at any time." },
	[EHS_REASON_MOVED] = { "moved",
		"It runs at home because it was moved out of the managed cgroups while it waited "
		"for a placement." },
	[EHS_REASON_INIT] = { "init",
		"It runs at home because it is the init process (PID 1), or that stood still until "
		"its exec was over (vfork); programs that it starts may be transferred." },
	[EHS_REASON_STAYS] = { "stays",
		"It runs at home because the agent has named its program as one that stays: such "
		"tasks are too short to be sent." },
};
/* clang-format on */

_Static_assert(sizeof(reasons) / sizeof(reasons[0]) == EHS_REASON_MAX + 1,
	       "every reason of uapi/linux/ehsched.h needs a name and a sentence");

/* Those of REASON_OWN on. */
static const struct reason reasons_own[] = {
	{ "credit",
	  "It was placed by a credit, before thresholds were asked: the node had a processor that "
	  "was free, or had the fewest tasks waiting for one." },
	{ "credit-used",
	  "It runs at home because the credit that it was placed by had lost its value: other "
	  "tasks came to that node first." },
	{ "away-user",
	  "It runs at home because this node keeps the tasks of its user: `away-allow-users` and "
	  "`away-deny-users` in its configuration." },
	{ "away-program",
	  "It runs at home because this node keeps its program: `away-allow-programs` and "
	  "`away-deny-programs` in its configuration." },
	{ "guest-user",
	  "It runs at home because the chosen node takes no tasks of its user: `guest-allow-users` "
	  "and `guest-deny-users` there, or the options of its ehlaunch." },
	{ "labels",
	  "It runs at home because no node that could take it has the labels that its program needs: "
	  "`only-on` and `never-on` in the configuration of its home, `labels` in those of the others." },
	{ "user-limit",
	  "It runs at home because the chosen node had as many guests of its user as it accepts: "
	  "`guests-per-user` in its configuration." },
	{ "owner",
	  "It runs at home because the owner of the chosen node uses it (`ehctl owner` there), and "
	  "meanwhile it takes no tasks of others." },
	{ "away-node",
	  "It runs at home because this node sends no tasks to those that could take it: "
	  "`away-allow-nodes` and `away-deny-nodes` in its configuration." },
	{ "guest-node", "It runs at home because the chosen node takes no tasks of this home: "
			"`guest-allow-nodes` and `guest-deny-nodes` in its configuration." },
	{ "short",
	  "It runs at home because such tasks of its user end before a transfer would be worth it; "
	  "the steps say what was expected. `learn = false` in the agent's configuration ends this." },
	{ "starved",
	  "It was killed on the node where it ran, because memory was short there. Unless the agent's "
	  "configuration has `learn = false`, more is expected of such tasks from now on." },
	{ "unseen",
	  "It runs at home because nobody could say whether something confines it here that would not on "
	  "another node; the steps say why." },
	{ "slower",
	  "It runs at home because it would take longer on the nodes that were free: programs of its user "
	  "took more time there than here, and the load here is less than that. The steps have the figures." },
};

_Static_assert(sizeof(reasons_own) / sizeof(reasons_own[0]) == REASON_OWN_END - REASON_OWN,
	       "every reason of the agents needs a name and a sentence");

static const struct reason *reason_find(unsigned int reason)
{
	if (reason <= EHS_REASON_MAX)
		return &reasons[reason];
	return reason >= REASON_OWN && reason < REASON_OWN_END ? &reasons_own[reason - REASON_OWN]
							       : NULL;
}

const char *reason_name(unsigned int reason)
{
	const struct reason *r = reason_find(reason);

	return r ? r->name : "unknown";
}

const char *reason_text(unsigned int reason)
{
	const struct reason *r = reason_find(reason);

	return r ? r->text
		 : "The reason is not known to this version; update "
		   "ehsched.";
}

bool reason_is_kernels(enum ehs_reason reason)
{
	return (reason > EHS_REASON_NONE && reason <= EHS_REASON_REDIRECT) ||
	       (reason >= EHS_REASON_NO_NEW_PRIVS && reason <= EHS_REASON_MAX);
}

enum ehs_reason reason_for_kernel(enum ehs_reason reason, bool remote)
{
	if (reason == REASON_CREDIT && remote)
		return EHS_REASON_SENDER;
	return reason < REASON_OWN ? reason : EHS_REASON_NO_RECEIVER;
}

int reason_parse(const char *name, enum ehs_reason *out)
{
	for (unsigned int r = 0; r < REASON_OWN_END; r++) {
		const struct reason *known = reason_find(r);

		if (known && !strcmp(name, known->name)) {
			*out = r;
			return 0;
		}
	}
	return -EINVAL;
}
