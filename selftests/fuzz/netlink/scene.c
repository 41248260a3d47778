// SPDX-License-Identifier: GPL-2.0-or-later
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/ehsched.h>
#include <linux/filter.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>

#include "cover.h"
#include "rival.h"

#define NOBODY 65534

static const char *const cgroup_names[SCENE_CGROUPS] = { "m", "m/below", "g", "short" };
static char folder_of_cgroups[256], folder_of_programs[] = "/tmp/fuzz.XXXXXX";

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int cgroup_open(unsigned int i)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder_of_cgroups, cgroup_names[i]);
	if (mkdir(path, 0755) && errno != EEXIST)
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int namespace_new(void)
{
	int fd;

	if (unshare(CLONE_NEWNET))
		return -1;
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	return fd;
}

void scene_init(struct scene *scene, const char *folder, const char *stub, uint16_t family,
		uint32_t group)
{
	unsigned int i;

	memset(scene, 0, sizeof(*scene));
	snprintf(folder_of_cgroups, sizeof(folder_of_cgroups), "%s", folder);
	if (mkdir(folder, 0755) && errno != EEXIST)
		die(folder);
	scene->stub = stub;
	scene->stub_fd = open(stub, O_RDONLY | O_CLOEXEC);
	if (scene->stub_fd < 0)
		die(stub);
	scene->family = family;
	scene->group = group;
	for (i = 0; i < SCENE_SOCKETS; i++)
		scene->sockets[i] = -1;
	for (i = 0; i < SCENE_NAMESPACES; i++)
		scene->namespaces[i] = -1;
	scene->namespaces[0] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	scene->namespaces[1] = namespace_new();
	if (scene->namespaces[0] < 0 || scene->namespaces[1] < 0 ||
	    setns(scene->namespaces[0], CLONE_NEWNET))
		die("network namespace");
	for (i = 0; i < SCENE_CGROUPS; i++) {
		scene->cgroups[i] = cgroup_open(i);
		if (scene->cgroups[i] < 0)
			die(folder);
	}
	scene->wrong_fd = open("/", O_RDONLY | O_CLOEXEC);
}

/*
 * A socket of somebody who may change his own namespace, and nothing else: made
 * in a user namespace by a child, which hands it over and ends.
 */
static int socket_of_owner(void)
{
	char control[CMSG_SPACE(sizeof(int))] = {}, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int pair[2], fd = -1;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
			_exit(1);
		fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
		*cmsg = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
		_exit(sendmsg(pair[0], &msg, 0) != 1);
	}
	close(pair[0]);
	if (pid > 0 && recvmsg(pair[1], &msg, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	close(pair[1]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return fd;
}

/* Rights are checked for the opener of the socket and for the sender: this is the opener. */
static int socket_in(const struct scene *scene, unsigned int i, bool nobody)
{
	int fd;

	if (scene->namespaces[i] < 0)
		i = 0;
	if (i && setns(scene->namespaces[i], CLONE_NEWNET))
		return -1;
	if (nobody && seteuid(NOBODY))
		die("seteuid");
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (nobody && seteuid(0))
		die("seteuid");
	if (i && setns(scene->namespaces[0], CLONE_NEWNET))
		die("setns");
	return fd;
}

void scene_open_socket(struct scene *scene, struct tape *tape)
{
	static const int options[] = { NETLINK_EXT_ACK,	       NETLINK_CAP_ACK,
				       NETLINK_GET_STRICT_CHK, NETLINK_NO_ENOBUFS,
				       NETLINK_PKTINFO,	       NETLINK_BROADCAST_ERROR,
				       NETLINK_LISTEN_ALL_NSID };
	struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	unsigned int i = tape_below(tape, SCENE_SOCKETS), way = tape_below(tape, 16);
	unsigned int where = tape_below(tape, SCENE_NAMESPACES);
	int one = 1, small = 1, fd;
	size_t o;

	scene_close_socket(scene, i);
	if (way == 0)
		fd = socket_of_owner();
	else
		fd = socket_in(scene, where, way < 3);
	if (fd < 0)
		return;
	scene->sockets[i] = fd;
	scene->where[i] = where;
	for (o = 0; o < sizeof(options) / sizeof(*options); o++)
		if (tape_one_in(tape, 3))
			setsockopt(fd, SOL_NETLINK, options[o], &one, sizeof(one));
	/* a buffer that overflows with the second message */
	if (tape_one_in(tape, 6))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	/* without: the kernel binds it at the first message */
	if (!tape_one_in(tape, 4))
		bind(fd, (struct sockaddr *)&any, sizeof(any));
	if (tape_one_in(tape, 3))
		setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &scene->group,
			   sizeof(scene->group));
}

void scene_close_socket(struct scene *scene, unsigned int i)
{
	if (scene->sockets[i] >= 0)
		close(scene->sockets[i]);
	scene->sockets[i] = -1;
}

void scene_new_namespace(struct scene *scene, unsigned int i)
{
	scene_close_namespace(scene, i);
	if (i < 2)
		return;
	scene->namespaces[i] = namespace_new();
	if (setns(scene->namespaces[0], CLONE_NEWNET))
		die("setns");
}

/* It is gone with its last socket and task. The first two stay. */
void scene_close_namespace(struct scene *scene, unsigned int i)
{
	if (i < 2 || scene->namespaces[i] < 0)
		return;
	close(scene->namespaces[i]);
	scene->namespaces[i] = -1;
}

void scene_renew_cgroup(struct scene *scene)
{
	char path[512];

	close(scene->cgroups[SCENE_CGROUPS - 1]);
	snprintf(path, sizeof(path), "%s/%s", folder_of_cgroups, cgroup_names[SCENE_CGROUPS - 1]);
	/* fails while another worker's task is inside */
	rmdir(path);
	scene->cgroups[SCENE_CGROUPS - 1] = cgroup_open(SCENE_CGROUPS - 1);
}

static void child_enter(const struct scene *scene, unsigned int cgroup)
{
	int fd = openat(scene->cgroups[cgroup], "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(125);
	close(fd);
}

/* What a child does before its exec, drawn before the fork as the tape is the parent's. */
struct plan {
	unsigned int cgroup, namespace, stays;
	uint8_t programs[3];
	bool keep_file, nobody, no_new_privs, traced, by_descriptor, user_namespace, chrooted,
		confined, rival;
	int left, left_by_rival; /* namespaces, of unshare(2) */
};

/*
 * Programs. The module sees an exec before anybody has looked at what is in the
 * file, and loading a real program is what costs most: so most are files of all
 * kinds that then turn out to be none, and one child can call exec many times.
 */
enum { PLAIN, SETUID, CAPS, SCRIPT, NOT_EXECUTABLE, ABSENT, REAL, STUB, PROGRAMS };
static char programs[STUB][300];

static void program_make(unsigned int which, const char *name, mode_t mode, const char *text)
{
	FILE *file;

	snprintf(programs[which], sizeof(programs[which]), "%s/%s", folder_of_programs, name);
	file = fopen(programs[which], "w");
	if (!file || fputs(text, file) < 0 || fclose(file) || chmod(programs[which], mode))
		die(programs[which]);
}

void scene_make_programs(void)
{
	struct vfs_cap_data caps = { .magic_etc = VFS_CAP_REVISION_2,
				     .data[0].permitted = 1 << CAP_NET_RAW };
	char text[320];

	if (!mkdtemp(folder_of_programs) || chmod(folder_of_programs, 0755))
		die(folder_of_programs);
	program_make(PLAIN, "plain", 0755, "no program\n");
	program_make(SETUID, "setuid", 04755, "no program\n");
	program_make(CAPS, "caps", 0755, "no program\n");
	program_make(NOT_EXECUTABLE, "not-executable", 0644, "no program\n");
	snprintf(text, sizeof(text), "#!%s\n", programs[PLAIN]);
	program_make(SCRIPT, "script", 0755, text);
	if (setxattr(programs[CAPS], "security.capability", &caps, sizeof(caps), 0))
		die(programs[CAPS]);
	snprintf(programs[ABSENT], sizeof(programs[ABSENT]), "%s/absent", folder_of_programs);
	strcpy(programs[REAL], "/bin/true");
}

void scene_remove_programs(void)
{
	unsigned int i;

	for (i = 0; i < REAL; i++)
		unlink(programs[i]);
	rmdir(folder_of_programs);
}

static void __attribute__((noreturn)) child(const struct scene *scene, const struct plan *plan)
{
	struct sock_filter yes = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog allow = { .len = 1, .filter = &yes };
	char *argv[] = { "child", "argument", NULL }, *env[] = { NULL };
	const char *program;
	unsigned int i;
	int fd;

	if (plan->namespace && scene->namespaces[plan->namespace] >= 0)
		setns(scene->namespaces[plan->namespace], CLONE_NEWNET);
	child_enter(scene, plan->cgroup);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(fd, 1);
	dup2(fd, 2);
	if (plan->keep_file && dup(fd) < 0)
		_exit(125);
	if (plan->nobody && (setgid(NOBODY) || setuid(NOBODY)))
		_exit(125);
	/* after that change, which undoes it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (plan->no_new_privs)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (plan->user_namespace)
		unshare(CLONE_NEWUSER);
	/* fails for nobody */
	if (plan->chrooted && chroot("/proc"))
		errno = 0;
	if (plan->confined && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &allow);
	if (plan->left)
		unshare(plan->left);
	if (plan->rival)
		rival_begin(scene, plan->left_by_rival);
	if (plan->traced)
		ptrace(PTRACE_TRACEME, 0, 0, 0);
	for (i = 0; i < sizeof(plan->programs); i++) {
		program = plan->programs[i] == STUB ? scene->stub : programs[plan->programs[i]];
		if (plan->by_descriptor)
			syscall(SYS_execveat, open(program, O_PATH | O_CLOEXEC), "", argv, env,
				AT_EMPTY_PATH);
		else
			execve(program, argv, env);
	}
	/* a task that is counted, for a while */
	poll(NULL, 0, plan->stays);
	_exit(0);
}

static void spawn(struct scene *scene, unsigned int i, const struct plan *plan)
{
	scene_kill(scene, i);
	scene->children[i] = fork();
	if (!scene->children[i]) {
		cover_child(i);
		child(scene, plan);
	}
	if (scene->children[i] < 0)
		scene->children[i] = 0;
}

/* Several namespaces of unshare(2), or none. */
static int namespaces(struct tape *tape, unsigned int seldom)
{
	static const int kinds[] = { CLONE_NEWUTS, CLONE_NEWIPC,    CLONE_NEWTIME,
				     CLONE_NEWPID, CLONE_NEWCGROUP, CLONE_NEWNS };
	int flags = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		if (tape_one_in(tape, seldom))
			flags |= kinds[k];
	return flags;
}

static uint8_t program(struct tape *tape)
{
	return tape_one_in(tape, 2) ? tape_below(tape, PROGRAMS) : PLAIN;
}

void scene_spawn(struct scene *scene, struct tape *tape)
{
	unsigned int i = tape_below(tape, SCENE_CHILDREN);
	struct plan plan = {
		.cgroup = tape_one_in(tape, 3) ? tape_below(tape, SCENE_CGROUPS) : 0,
		.namespace = tape_below(tape, SCENE_NAMESPACES),
		.programs = { program(tape), program(tape), program(tape) },
		.stays = 1 << tape_below(tape, 10),
		.keep_file = tape_one_in(tape, 12),
		.nobody = tape_one_in(tape, 8),
		.no_new_privs = tape_one_in(tape, 16),
		.traced = tape_one_in(tape, 16),
		.by_descriptor = tape_one_in(tape, 12),
		.user_namespace = tape_one_in(tape, 16),
		.chrooted = tape_one_in(tape, 32),
		.confined = tape_one_in(tape, 32),
		.rival = tape_one_in(tape, 8),
		.left = namespaces(tape, 48),
		.left_by_rival = namespaces(tape, 6),
	};

	spawn(scene, i, &plan);
}

void scene_spawn_ordinary(struct scene *scene, struct tape *tape, unsigned int i)
{
	struct plan plan = { .namespace = scene->where[i],
			     .stays = 500,
			     .rival = tape_one_in(tape, 4) };

	spawn(scene, tape_below(tape, SCENE_CHILDREN), &plan);
}

void scene_kill(struct scene *scene, unsigned int i)
{
	int status;

	if (!scene->children[i])
		return;
	kill(scene->children[i], SIGKILL);
	/* a traced one may have stopped before */
	while (waitpid(scene->children[i], &status, 0) > 0 && WIFSTOPPED(status))
		;
	scene->children[i] = 0;
	scene->news += cover_take_child(i);
}

static void cookie_keep(struct scene *scene, const struct nlmsghdr *nlh)
{
	const struct genlmsghdr *genl = NLMSG_DATA(nlh);
	const struct nlattr *attr = (const struct nlattr *)(genl + 1);
	long left = (long)nlh->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;

	for (; left >= NLA_HDRLEN && attr->nla_len >= NLA_HDRLEN && attr->nla_len <= left;
	     left -= NLA_ALIGN(attr->nla_len),
	     attr = (const void *)((const char *)attr + NLA_ALIGN(attr->nla_len))) {
		if (attr->nla_type != EHS_A_PLACE_COOKIE)
			continue;
		memmove(scene->cookies + 1, scene->cookies,
			sizeof(scene->cookies) - sizeof(*scene->cookies));
		memcpy(scene->cookies, attr + 1, sizeof(*scene->cookies));
	}
}

void scene_receive(struct scene *scene, unsigned int i, unsigned int messages)
{
	static char data[65536] __attribute__((aligned(8)));
	const struct nlmsghdr *nlh;
	ssize_t got;

	while (messages-- && scene->sockets[i] >= 0) {
		got = recv(scene->sockets[i], data, sizeof(data), MSG_DONTWAIT);
		if (got < 0)
			return;
		for (nlh = (void *)data; NLMSG_OK(nlh, got); nlh = NLMSG_NEXT(nlh, got))
			if (nlh->nlmsg_type == scene->family &&
			    nlh->nlmsg_len >= NLMSG_LENGTH(GENL_HDRLEN) &&
			    ((struct genlmsghdr *)NLMSG_DATA(nlh))->cmd == EHS_CMD_PLACE_REQUEST)
				cookie_keep(scene, nlh);
	}
}

void scene_clear(struct scene *scene)
{
	unsigned int i;

	for (i = 0; i < SCENE_SOCKETS; i++)
		scene_close_socket(scene, i);
	for (i = 0; i < SCENE_CHILDREN; i++)
		scene_kill(scene, i);
	for (i = 0; i < SCENE_NAMESPACES; i++)
		scene_close_namespace(scene, i);
	memset(scene->cookies, 0, sizeof(scene->cookies));
}

uint32_t scene_fd(const struct scene *scene, struct tape *tape)
{
	if (!tape_one_in(tape, 6))
		return scene->cgroups[tape_below(tape, SCENE_CGROUPS)];
	switch (tape_below(tape, 4)) {
	case 0:
		return scene->wrong_fd;
	case 1:
		return scene->sockets[tape_below(tape, SCENE_SOCKETS)];
	case 2:
		return tape_below(tape, 256);
	default:
		return tape_below(tape, 1ull << 32);
	}
}

uint32_t scene_pid(const struct scene *scene, struct tape *tape)
{
	switch (tape_below(tape, 8)) {
	case 0:
		return getpid();
	case 1:
		/* nobody and a kernel thread; not 1, which would keep its record */
		return 2 * tape_below(tape, 2);
	case 2:
		return tape_below(tape, 1ull << 32) | 1 << 22;
	default:
		return scene->children[tape_below(tape, SCENE_CHILDREN)];
	}
}

uint64_t scene_cookie(const struct scene *scene, struct tape *tape)
{
	if (tape_one_in(tape, 10))
		return tape_below(tape, 0);
	return scene->cookies[tape_one_in(tape, 2) ? tape_below(tape, SCENE_COOKIES) : 0] +
	       tape_one_in(tape, 10);
}

const char *scene_path(const struct scene *scene, struct tape *tape)
{
	static const char *const paths[] = {
		"/nonexistent", "/etc/passwd",	 "/tmp", "relative", "", "/",
		"/dev/null",	"/proc/self/exe"
	};

	if (!tape_one_in(tape, 4))
		return scene->stub;
	return paths[tape_below(tape, sizeof(paths) / sizeof(*paths))];
}
