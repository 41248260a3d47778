// SPDX-License-Identifier: GPL-2.0-or-later
/* `ehctl doctor`: diagnose this node and suggest fixes. */

#include "ctl/doctor.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/user.h"
#include "cluster/hierarchy.h"
#include "cluster/join.h"
#include "eh/topology.h"
#include "executor/view.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/tls.h"
#include "node/cgroup.h"
#include "node/kernel.h"
#include "wire/view.h"

#define DOCTOR_SKEW_MS 2000
#define DOCTOR_EXPIRY_DAYS 14

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
	else if (now < from)
		doctor_add(checks, "certificate", DOCTOR_ERROR, "set the clock",
			   "CN %s: not valid yet", cn);
	else if (now > until)
		doctor_add(checks, "certificate", DOCTOR_ERROR,
			   "make a new one with `ehctl cert node`, then `systemctl reload "
			   "ehagent`",
			   "CN %s: expired %lld days ago", cn, (long long)(now - until) / 86400);
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
		doctor_add(checks, "key", st.st_mode & 077 ? DOCTOR_ERROR : DOCTOR_OK,
			   "others can read it: chmod 600", "%s: mode %03o", agent->config->key,
			   (unsigned int)st.st_mode & 0777);
}

/* People know hosts. */
static void doctor_name_hosts(json_t *checks, size_t from, const struct peer *p)
{
	for (; from < json_array_size(checks); from++)
		json_object_set_new(json_array_get(checks, from), "host", json_string(p->host));
}

static void doctor_peer(struct peer *p, const char *users, json_t *checks)
{
	char name[EH_CODE_TEXT + 8];

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
		   "user ID belongs to another user there",
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

static void doctor_cgroup(struct agent *agent, json_t *checks)
{
	char path[1100], text[512];

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
	doctor_add(checks, "cgroup", strstr(text, "cpu") ? DOCTOR_OK : DOCTOR_WARNING,
		   "add cpu to cgroup.subtree_control of the parent directory",
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
	const char *trouble = view_trouble(agent), *fuse = view_fuse_trouble(agent);
	bool asked = agent->config->view > VIEW_SHARED;

	if (trouble)
		doctor_add(checks, "views", asked ? DOCTOR_ERROR : DOCTOR_OK,
			   "start ehlaunch as root, on a kernel with FUSE (modprobe fuse) or 9p",
			   "guests cannot see the files of their home on this node: %s", trouble);
	else if (agent->config->view_9p)
		doctor_add(checks, "views", DOCTOR_OK, "",
			   "home files of guests are mounted over 9p");
	else
		doctor_add(checks, "views", DOCTOR_OK, "",
			   "home files of guests are mounted over %s%s", fuse ? "9p: " : "FUSE",
			   fuse ? fuse : "");
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
	doctor_cgroup(agent, checks);
	doctor_stub(agent, checks);
	doctor_views(agent, checks);
	return json_pack("{s:i,s:o}", "version", 1, "checks", checks);
}
