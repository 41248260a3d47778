// SPDX-License-Identifier: GPL-2.0-or-later
/* `ehctl doctor`: diagnose this node and suggest fixes. */

#include "ctl/doctor.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jansson.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/directory.h"
#include "base/ehlaunch.h"
#include "base/rule.h"
#include "base/user.h"
#include "cert/read.h"
#include "cluster/hierarchy.h"
#include "cluster/join.h"
#include "cluster/renew.h"
#include "cluster/versions.h"
#include "eh/topology.h"
#include "executor/view.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/revoked.h"
#include "net/server.h"
#include "net/tls.h"
#include "node/cgroup.h"
#include "node/kernel.h"
#include "wire/view.h"

#define DOCTOR_SKEW_MS 2000
#define DOCTOR_EXPIRY_DAYS 14
#define DOCTOR_REFUSED_S 3600 /* what was refused before is only noted */

/* What is so, what works less well, what does not work. */
enum doctor_level { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_WARNING, DOCTOR_ERROR };

/* `mend` is the old name of `fix`, kept for one version. */
static void __attribute__((format(printf, 5, 6)))
doctor_add(json_t *checks, const char *name, enum doctor_level level, const char *fix,
	   const char *format, ...)
{
	static const char *const levels[] = { "ok", "note", "warning", "error" };
	char what[512];
	va_list args;

	if (level == DOCTOR_OK)
		fix = "";
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	json_array_append_new(checks, json_pack("{s:s,s:b,s:s,s:s,s:s,s:s}", "name", name, "ok",
						level == DOCTOR_OK, "level", levels[level], "what",
						what, "fix", fix, "mend", fix));
}

static bool doctor_read(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static void doctor_module(struct agent *agent, json_t *checks)
{
	char lockdown[64];

	if (agent->module) {
		doctor_add(checks, "module", DOCTOR_OK, "", "registered, family version %u",
			   kernel_version(agent));
		return;
	}
	if (kernel_version(agent) && kernel_version(agent) != EHS_FAMILY_VERSION) {
		doctor_add(checks, "module", DOCTOR_ERROR,
			   "install the same version of agent and module; a module that is loaded "
			   "stays until rmmod ehsched, or the next boot",
			   "loaded, but not used: %s", kernel_trouble(agent));
		return;
	}
	if (kernel_version(agent)) {
		doctor_add(checks, "module", DOCTOR_ERROR,
			   "stop the other agent in this network namespace, give this one "
			   "CAP_NET_ADMIN and CAP_SYS_ADMIN, or correct its stub",
			   "loaded, but this agent is not registered: %s", kernel_trouble(agent));
		return;
	}
	if (doctor_read("/sys/kernel/security/lockdown", lockdown, sizeof(lockdown)) &&
	    !strstr(lockdown, "[none]"))
		doctor_add(
			checks, "module", DOCTOR_WARNING,
			"sign the module with a key that the firmware trusts (mokutil --import), "
			"or turn Secure Boot off",
			"not loaded, and this kernel accepts only signed modules (lockdown)");
	else if (access("/proc/modules", F_OK))
		doctor_add(checks, "module", DOCTOR_NOTE,
			   "not needed for `ehctl exec` and `ehctl run`; for automatic "
			   "placement, boot a kernel that loads modules",
			   "this kernel does not load modules");
	else
		doctor_add(
			checks, "module", DOCTOR_WARNING,
			"modprobe ehsched (or insmod build/ehsched.ko; dmesg says why if it fails)",
			"not loaded: execs are not intercepted, and load is read from /proc");
}

static void doctor_certificate(struct agent *agent, json_t *checks)
{
	int64_t from, until, now = clock_wall_ms() / 1000;
	struct stat st;
	char cn[256];

	if (tls_own_validity(agent->tls, &from, &until, cn, sizeof(cn)))
		doctor_add(checks, "certificate", DOCTOR_ERROR, "run `ehctl cert node`",
			   "not readable");
	else if (revoked_by(agent))
		doctor_add(checks, "certificate", DOCTOR_ERROR,
			   "to admit it again, run `ehctl invite --host NAME` on the host of the "
			   "authority; here remove the old files, then run `ehctl join`",
			   "CN %s: REVOKED, says %s; the cluster refuses this host", cn,
			   revoked_by(agent));
	else if (now < from)
		doctor_add(checks, "certificate", DOCTOR_ERROR, "set the clock",
			   "CN %s: not valid yet", cn);
	else if (now > until)
		doctor_add(checks, "certificate", DOCTOR_ERROR,
			   "make a new one with `ehctl cert node`, then `systemctl reload "
			   "ehagent`",
			   "CN %s: expired %lld days ago", cn, (long long)(now - until) / 86400);
	else if (renew_trouble(agent))
		doctor_add(checks, "certificate", DOCTOR_WARNING,
			   "start the agent of the host with the authority's key, or make a new "
			   "one with `ehctl cert node`, then `systemctl reload ehagent`",
			   "CN %s: valid for %lld more days, and not renewed: %s", cn,
			   (long long)(until - now) / 86400, renew_trouble(agent));
	else
		doctor_add(checks, "certificate",
			   until - now > DOCTOR_EXPIRY_DAYS * 86400 ? DOCTOR_OK : DOCTOR_WARNING,
			   "make a new one with `ehctl cert node`, then `systemctl reload "
			   "ehagent`",
			   "CN %s: valid for %lld more days", cn, (long long)(until - now) / 86400);
	if (stat(agent->config->key, &st))
		doctor_add(checks, "key", DOCTOR_ERROR,
			   "restore it, or correct `key` in the configuration", "%s: %s",
			   agent->config->key, strerror(errno));
	else
		doctor_add(checks, "key",
			   cert_exposed(st.st_mode, st.st_uid) ? DOCTOR_ERROR : DOCTOR_OK,
			   "others can read it: chmod 600", "%s: mode %03o", agent->config->key,
			   (unsigned int)st.st_mode & 0777);
}

/* People know hosts. */
static void doctor_name_hosts(json_t *checks, size_t from, const struct peer *p)
{
	for (; from < json_array_size(checks); from++)
		json_object_set_new(json_array_get(checks, from), "host", json_string(p->host));
}

/* Hosts of two versions work together while a cluster is upgraded, one after the other. */
static void doctor_version(const struct peer *p, json_t *checks)
{
	const struct agent *agent = p->agent;
	char name[EH_CODE_TEXT + 9], why[VERSIONS_TEXT];

	snprintf(name, sizeof(name), "version %s", p->text);
	if (p->fit != VERSIONS_FIT) {
		doctor_add(checks, name, DOCTOR_ERROR,
			   "upgrade the host that is too old (docs/operations.md, \"Upgrade a "
			   "cluster\")",
			   "no tasks go to %s or come from it: %s", p->host,
			   versions_say(why, "protocol", agent->config->host, &agent->protocol,
					p->host, &p->speaks));
		return;
	}
	if (!p->protocol)
		return;
	doctor_add(
		checks, name,
		p->protocol == agent->protocol.max && !strcmp(p->release, agent->release ?: "")
			? DOCTOR_OK
			: DOCTOR_NOTE,
		"upgrade the older one when it suits (docs/operations.md, \"Upgrade a cluster\")",
		"%s has %s%s, this host %s; they use protocol %u", p->host,
		*p->release ? "ehsched " : "an earlier ehsched", p->release, agent->release ?: "?",
		p->protocol);
}

/* Nothing false was taken in: but the host that sends it is broken, or lies. */
static void doctor_roster(const struct peer *p, json_t *checks)
{
	char name[EH_CODE_TEXT + 16];

	if (!p->unproven)
		return;
	snprintf(name, sizeof(name), "roster of %s", p->text);
	doctor_add(
		checks, name, DOCTOR_WARNING,
		"the log of this agent has the first one; check who uses that host, and revoke its "
		"certificate if it is not to be trusted (`ehctl revoke`)",
		"%s (%s) has sent %u invalid entries of the roster; they were ignored", p->host,
		p->address.text, p->unproven);
}

static void doctor_peer(struct peer *p, const char *users, json_t *checks)
{
	char name[EH_CODE_TEXT + 8];

	doctor_version(p, checks);
	doctor_roster(p, checks);

	snprintf(name, sizeof(name), "peer %s", p->text);
	if (!p->up && p->down != PEER_UNLINKED) {
		doctor_add(checks, name, DOCTOR_WARNING,
			   "on that host: systemctl status ehagent; check that the port is "
			   "open and the address is right",
			   "%s (%s) is down: %s", p->host, p->address.text, p->trouble);
		return;
	}
	doctor_add(checks, name, DOCTOR_OK, "", "%s (%s) is %s", p->host, p->address.text,
		   p->up ? "up" : "not connected, because no connection was needed");
	if (!*p->boot_id)
		return;
	snprintf(name, sizeof(name), "clock %s", p->text);
	doctor_add(checks, name, llabs(p->skew_ms) <= DOCTOR_SKEW_MS ? DOCTOR_OK : DOCTOR_WARNING,
		   "run a time service (chrony, systemd-timesyncd): make and other programs "
		   "compare timestamps",
		   "differs by %.3f s", p->skew_ms / 1000.0);
	snprintf(name, sizeof(name), "users %s", p->text);
	doctor_add(checks, name,
		   !*p->users || !strcmp(p->users, users) ? DOCTOR_OK : DOCTOR_WARNING,
		   "give each user the same ID on all nodes; a task stays at home if its "
		   "user ID belongs to another user there; or see user-map in ehagent.conf(5)",
		   "%s",
		   !*p->users || !strcmp(p->users, users) ? "same user IDs and names"
							  : "/etc/passwd differs");
}

static void doctor_peers(struct agent *agent, json_t *checks)
{
	const char *users = user_digest();
	struct peer *p;

	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p)) {
		size_t from = json_array_size(checks);

		if (p->self)
			continue;
		doctor_peer(p, users, checks);
		doctor_name_hosts(checks, from, p);
	}
}

/* What was refused, as "3 streams, 1 late". */
static unsigned long long doctor_refused(const json_t *refused, char *text, size_t size)
{
	unsigned long long sum = 0;
	const char *what;
	size_t used = 0;
	json_t *n;

	*text = '\0';
	json_object_foreach((json_t *)refused, what, n) {
		const unsigned long long count = json_integer_value(n);

		if (count && used < size)
			used += snprintf(text + used, size - used, "%s%llu %s", used ? ", " : "",
					 count, what);
		sum += count;
	}
	return sum;
}

/* One that holds something of this agent, or was refused something. */
static void doctor_quota(const json_t *limits, const json_t *one, json_t *checks)
{
	const char *host = json_string_value(json_object_get(one, "host"));
	const char *node = json_string_value(json_object_get(one, "node"));
	const json_int_t ago = json_integer_value(json_object_get(one, "refused_seconds"));
	char name[ADDRESS_HOST_MAX + 8], what[160], use[160];
	unsigned long long refused =
		doctor_refused(json_object_get(one, "refused"), what, sizeof(what));

	snprintf(name, sizeof(name), "quota %s", node ?: host);
	snprintf(use, sizeof(use), "%s has %lld of %lld streams, and %.1f of %lld MiB", host,
		 json_integer_value(json_object_get(one, "streams")),
		 json_integer_value(json_object_get(limits, "streams")),
		 json_integer_value(json_object_get(one, "memory")) / 1048576.0,
		 json_integer_value(json_object_get(limits, "memory")) >> 20);
	if (!refused)
		doctor_add(checks, name, DOCTOR_OK, "", "%s", use);
	else
		doctor_add(checks, name, ago < DOCTOR_REFUSED_S ? DOCTOR_WARNING : DOCTOR_NOTE,
			   "if that host is only busy, raise peer-streams or peer-memory "
			   "(ehagent.conf(5)) here; else check what runs there, and revoke its "
			   "certificate if it is not to be trusted (`ehctl revoke`)",
			   "%s; it was refused %llu times, last %lld s ago: %s", use, refused, ago,
			   what);
	json_object_set_new(json_array_get(checks, json_array_size(checks) - 1), "host",
			    json_string(host));
}

static void doctor_quotas(struct agent *agent, json_t *checks)
{
	json_t *quotas = server_quotas(agent), *one;
	size_t i;

	json_array_foreach(json_object_get(quotas, "peers"), i, one)
		doctor_quota(quotas, one, checks);
	json_decref(quotas);
}

/* Whether a list with blanks between its words has this one: cpuset is not cpu. */
static bool doctor_lists(const char *list, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = list + strspn(list, " \n"); *at; at += strspn(at, " \n")) {
		if (!strncmp(at, word, length) && strchr(" \n", at[length]))
			return true;
		at += strcspn(at, " \n");
	}
	return false;
}

static void doctor_cgroup(struct agent *agent, json_t *checks)
{
	const char *fix = "add cpu to cgroup.subtree_control of the parent directory";
	char path[1100], text[512], above[512];

	if (cgroup_managed_fd(agent) < 0) {
		doctor_add(checks, "cgroup", DOCTOR_WARNING,
			   "mount cgroup2 (systemd.unified_cgroup_hierarchy=1), or set `cgroup` to "
			   "a directory in it",
			   "%s: not usable; guests run without limits of their own",
			   agent->config->cgroup);
		return;
	}
	snprintf(path, sizeof(path), "%s/cgroup.controllers", agent->config->cgroup);
	doctor_read(path, text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	snprintf(path, sizeof(path), "%s/../cgroup.controllers", agent->config->cgroup);
	/* nothing can be added that a hierarchy of cgroup 1 has */
	if (doctor_read(path, above, sizeof(above)) && !doctor_lists(above, "cpu"))
		fix = "the parent directory does not have cpu itself: have all controllers in "
		      "cgroup2 (systemd.unified_cgroup_hierarchy=1)";
	doctor_add(checks, "cgroup", doctor_lists(text, "cpu") ? DOCTOR_OK : DOCTOR_WARNING, fix,
		   "%s, controllers: %s", agent->config->cgroup, *text ? text : "none");
}

/* A stub that needs a loader and libraries would cost a few MiB for each task that is away. */
static bool doctor_is_static(int fd)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG))
		return false;
	if (head.e_ident[EI_CLASS] != ELFCLASS64)
		return true;
	for (int i = 0; i < head.e_phnum; i++) {
		off_t at = head.e_phoff + (off_t)i * head.e_phentsize;

		if (pread(fd, &part, sizeof(part), at) != sizeof(part) || part.p_type == PT_INTERP)
			return false;
	}
	return true;
}

static void doctor_stub(struct agent *agent, json_t *checks)
{
	const char *stub = agent->config->stub;
	int fd = open(stub, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || access(stub, X_OK))
		doctor_add(checks, "stub", DOCTOR_ERROR,
			   "make install, or correct `stub` in the configuration", "%s: %s", stub,
			   strerror(errno));
	else if (!doctor_is_static(fd))
		doctor_add(checks, "stub", DOCTOR_WARNING,
			   "build it with musl-gcc -static (make tools)",
			   "%s: not statically linked", stub);
	else
		doctor_add(checks, "stub", DOCTOR_OK, "", "%s", stub);
	if (fd >= 0)
		close(fd);
}

/*
 * Whether tasks of other homes can have their views. Not an error: where all files are shared,
 * nobody needs them.
 */
static void doctor_views(struct agent *agent, json_t *checks)
{
	const char *trouble = view_trouble(agent);
	bool asked = agent->config->view > VIEW_SHARED;

	if (trouble)
		doctor_add(checks, "views", asked ? DOCTOR_ERROR : DOCTOR_OK,
			   "start ehlaunch as root, on a kernel with FUSE (modprobe fuse)",
			   "guests cannot see the files of their home on this node: %s", trouble);
	else
		doctor_add(checks, "views", DOCTOR_OK, "",
			   "home files of guests are mounted over FUSE");
}

/* ehlaunch decides who may be what on this host, by the rules that it has read. */
static void doctor_launcher(struct agent *agent, json_t *checks)
{
	switch (ehlaunch_rules(agent)) {
	case EHLAUNCH_SAME:
		doctor_add(checks, "ehlaunch", DOCTOR_OK, "", "it enforces the rules of %s",
			   agent->config->file);
		break;
	case EHLAUNCH_OTHERS:
		doctor_add(checks, "ehlaunch", DOCTOR_ERROR,
			   "`systemctl restart ehlaunch`; it must be started by `ehagent --launch "
			   "-c` with the same file",
			   "it enforces other rules than those of %s (ehagent -t)",
			   agent->config->file);
		break;
	case EHLAUNCH_UNKNOWN:
		doctor_add(checks, "ehlaunch", DOCTOR_WARNING, "`systemctl restart ehlaunch`",
			   "it does not say which rules it enforces: it is not there, or of an "
			   "earlier version");
		break;
	}
}

static void doctor_unknown(void *checks, const char *setting, const char *item, bool denies)
{
	const bool group = *item == '@';

	doctor_add(checks, "rules", denies ? DOCTOR_WARNING : DOCTOR_NOTE,
		   "correct it in agent.conf, then `ehctl reload`; or make it known to getent",
		   "%s: there is no %s %s here%s", setting, group ? "group" : "user", item + group,
		   !denies ? ": it allows nobody"
		   : group ? ": it denies everybody"
			   : ": it denies nobody");
}

/* Only what may be misspelt is worth a line. */
static void doctor_rules(struct agent *agent, json_t *checks)
{
	const char *admins = agent->config->admin_group;
	gid_t gid;

	rule_find_unknown(agent->config, doctor_unknown, checks);
	if (directory_is_late())
		doctor_add(checks, "names", DOCTOR_WARNING,
			   "`getent passwd USER` shows if it answers; see nsswitch.conf(5)",
			   "the name services of this host do not answer in time: users and groups "
			   "that are not known yet are refused");
	if (*admins && user_group(admins, &gid) == -ENOENT)
		doctor_add(checks, "rules", DOCTOR_NOTE,
			   "correct it in agent.conf, then `ehctl reload`; or make the group",
			   "admin-group: there is no group %s here: it allows nobody", admins);
}

json_t *doctor_report(struct agent *agent)
{
	json_t *checks = json_array();

	if (!agent->member) {
		doctor_add(checks, "agent", DOCTOR_ERROR,
			   "start an agent at one of the `join` addresses, or correct them",
			   "has not joined the cluster yet: %s", join_trouble(agent));
		doctor_certificate(agent, checks);
		doctor_stub(agent, checks);
		return json_pack("{s:i,s:o}", "version", 1, "checks", checks);
	}
	doctor_add(checks, "agent", DOCTOR_OK, "",
		   "runs as node %s, process %d; the controller is %s", agent->code, (int)getpid(),
		   hierarchy_controller(agent)->self ? "this node"
						     : peer_host(hierarchy_controller(agent)));
	doctor_module(agent, checks);
	doctor_certificate(agent, checks);
	doctor_peers(agent, checks);
	doctor_quotas(agent, checks);
	doctor_cgroup(agent, checks);
	doctor_stub(agent, checks);
	doctor_views(agent, checks);
	doctor_launcher(agent, checks);
	doctor_rules(agent, checks);
	return json_pack("{s:i,s:o}", "version", 1, "checks", checks);
}
