// SPDX-License-Identifier: GPL-2.0-or-later
/* Verbs of probe that confine the task, or give it other rights than its user has. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/securebits.h>

#include "probe.h"

#define NOBODY 65534

/* Newer than the C library. */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

/* landlock: a domain that forbids device files; needs no_new_privs or CAP_SYS_ADMIN */
static char **landlock(char **args)
{
	struct landlock_ruleset_attr rules = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK,
	};
	int fd = syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);

	if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0))
		die("landlock");
	close(fd);
	return args;
}

/* landlock-net: a domain with rules for the network only, since 6.7 */
static char **landlock_net(char **args)
{
	/* handled_access_fs, handled_access_net: bind() of TCP */
	uint64_t rules[2] = { 0, 1 };
	int fd = syscall(SYS_landlock_create_ruleset, rules, sizeof(rules), 0);

	if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0))
		die("landlock-net");
	close(fd);
	return args;
}

/* ids REAL EFFECTIVE: of the user */
static char **ids(char **args)
{
	if (setresuid(atoi(args[0]), atoi(args[1]), atoi(args[1])))
		die("setresuid");
	return args + 2;
}

/* gids REAL EFFECTIVE: of the group */
static char **gids(char **args)
{
	if (setresgid(atoi(args[0]), atoi(args[1]), atoi(args[1])))
		die("setresgid");
	return args + 2;
}

/* fsuid ID: of the user for files */
static char **fsuid(char **args)
{
	setfsuid(atoi(args[0]));
	if (setfsuid(-1) != atoi(args[0]))
		die("setfsuid");
	return args + 1;
}

static void get_caps(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };

	if (syscall(SYS_capget, &head, data))
		die("capget");
}

static void set_caps(const struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };

	if (syscall(SYS_capset, &head, data))
		die("capset");
}

/* bounding CAP: take a capability out of the bounding set */
static char **bounding(char **args)
{
	if (prctl(PR_CAPBSET_DROP, atoi(args[0]), 0, 0, 0))
		die("bounding set");
	return args + 1;
}

/* permitted: give one up */
static char **permitted(char **args)
{
	struct __user_cap_data_struct data[2];

	get_caps(data);
	data[0].permitted &= ~(1u << CAP_NET_RAW);
	data[0].effective &= data[0].permitted;
	set_caps(data);
	return args;
}

/* effective: do not use one */
static char **effective(char **args)
{
	struct __user_cap_data_struct data[2];

	get_caps(data);
	data[0].effective &= ~(1u << CAP_NET_RAW);
	set_caps(data);
	return args;
}

/* ambient: be a user with a capability */
static char **ambient(char **args)
{
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setresuid(NOBODY, NOBODY, NOBODY))
		die("keepcaps");
	data[0].permitted = data[0].effective = data[0].inheritable = 1u << CAP_NET_RAW;
	set_caps(data);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0))
		die("ambient");
	return args;
}

static char **securebits(char **args)
{
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0))
		die("securebits");
	return args;
}

/* mdwe: nothing that was written becomes executable */
static char **mdwe(char **args)
{
	if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0))
		die("mdwe");
	return args;
}

/* core: share no processor core with others; there have to be threads of one */
static char **core(char **args)
{
	if (prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, 0, 0))
		die("core");
	return args;
}

/* speculation store|branch SETTING: force for good, disable until it is enabled, noexec until the next exec */
static char **speculation(char **args)
{
	unsigned long kind =
		strcmp(args[0], "store") ? PR_SPEC_INDIRECT_BRANCH : PR_SPEC_STORE_BYPASS;
	unsigned long setting = PR_SPEC_FORCE_DISABLE;

	if (!strcmp(args[1], "disable"))
		setting = PR_SPEC_DISABLE;
	else if (!strcmp(args[1], "noexec"))
		setting = PR_SPEC_DISABLE_NOEXEC;
	if (prctl(PR_SET_SPECULATION_CTRL, kind, setting, 0, 0))
		die("speculation");
	return args + 2;
}

/* landlock-abi: print its version, 0 if there is none */
static char **landlock_abi(char **args)
{
	int abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	printf("%d\n", abi < 0 ? 0 : abi);
	return args;
}

static int call_bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static const struct {
	const char *name;
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
} kinds[] = {
	{ "device", BPF_PROG_TYPE_CGROUP_DEVICE, BPF_CGROUP_DEVICE },
	{ "egress", BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS },
};

static size_t find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return i;
	errno = EINVAL;
	die(name);
}

/* A program that permits everything. */
static int load_bpf(size_t kind)
{
	static const struct bpf_insn yes[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = kinds[kind].type,
		.expected_attach_type = kinds[kind].attach,
		.insn_cnt = sizeof(yes) / sizeof(*yes),
		.insns = (uintptr_t)yes,
		.license = (uintptr_t) "GPL",
	};
	int fd = call_bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		die("BPF program");
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

/* bpf KIND N DIRECTORY…: attach a new program to N cgroups, the same one to all */
static char **bpf(char **args)
{
	size_t kind = find_kind(args[0]);
	int n = atoi(args[1]), prog = load_bpf(kind), cgroup;

	for (args += 2; n--; args++) {
		cgroup = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		union bpf_attr attr = {
			.target_fd = cgroup,
			.attach_bpf_fd = prog,
			.attach_type = kinds[kind].attach,
			.attach_flags = BPF_F_ALLOW_OVERRIDE,
		};

		if (cgroup < 0 || call_bpf(BPF_PROG_ATTACH, &attr))
			die(args[0]);
		close(cgroup);
	}
	return args;
}

/* unbpf KIND DIRECTORY: detach it */
static char **unbpf(char **args)
{
	int cgroup = open(args[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	union bpf_attr attr = {
		.target_fd = cgroup,
		.attach_type = kinds[find_kind(args[0])].attach,
	};

	if (cgroup < 0 || call_bpf(BPF_PROG_DETACH, &attr))
		die(args[1]);
	close(cgroup);
	return args + 2;
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(path);
	close(fd);
}

/* The parts of a compiled profile (security/apparmor/policy_unpack.c): little endian, a type before each. */
enum { AA_U32 = 2, AA_NAME = 4, AA_STRING = 5, AA_STRUCT = 7, AA_STRUCTEND = 8 };

static void put_number(FILE *out, uint32_t number)
{
	fputc(AA_U32, out);
	fwrite(&number, sizeof(number), 1, out);
}

static void put_text(FILE *out, int type, const char *text)
{
	uint16_t length = strlen(text) + 1;

	fputc(type, out);
	fwrite(&length, sizeof(length), 1, out);
	fwrite(text, 1, length, out);
}

/* apparmor-load NAME: a profile that permits everything, by its flag "unconfined" */
static char **apparmor_load(char **args)
{
	char *data;
	size_t size;
	FILE *out = open_memstream(&data, &size);
	int fd;

	put_text(out, AA_NAME, "version");
	put_number(out, 5);
	put_text(out, AA_NAME, "profile");
	fputc(AA_STRUCT, out);
	put_text(out, AA_STRING, args[0]);
	put_text(out, AA_NAME, "flags");
	fputc(AA_STRUCT, out);
	put_number(out, 0);
	put_number(out, 3); /* unconfined */
	put_number(out, 0);
	fputc(AA_STRUCTEND, out);
	for (int i = 0; i < 4; i++) /* capabilities */
		put_number(out, 0);
	fputc(AA_STRUCTEND, out);
	fclose(out);
	fd = open("/sys/kernel/security/apparmor/.load", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		die("load of an AppArmor profile");
	close(fd);
	free(data);
	return args + 1;
}

static char **apparmor_attr(char **args, const char *file, const char *command)
{
	char text[256];

	snprintf(text, sizeof(text), "%s %s", command, args[0]);
	write_text(file, text);
	return args + 1;
}

/* apparmor NAME: go under a profile */
static char **apparmor(char **args)
{
	return apparmor_attr(args, "/proc/self/attr/apparmor/current", "changeprofile");
}

/* apparmor-exec NAME: at the next exec */
static char **apparmor_exec(char **args)
{
	return apparmor_attr(args, "/proc/self/attr/apparmor/exec", "exec");
}

const struct verb confine_verbs[] = {
	{ "landlock", landlock, 0 },
	{ "landlock-abi", landlock_abi, 0 },
	{ "landlock-net", landlock_net, 0 },
	{ "mdwe", mdwe, 0 },
	{ "core", core, 0 },
	{ "speculation", speculation, 2 },
	{ "ids", ids, 2 },
	{ "gids", gids, 2 },
	{ "fsuid", fsuid, 1 },
	{ "bounding", bounding, 1 },
	{ "permitted", permitted, 0 },
	{ "effective", effective, 0 },
	{ "ambient", ambient, 0 },
	{ "securebits", securebits, 0 },
	{ "bpf", bpf, 3 },
	{ "unbpf", unbpf, 2 },
	{ "apparmor-load", apparmor_load, 1 },
	{ "apparmor", apparmor, 1 },
	{ "apparmor-exec", apparmor_exec, 1 },
	{ NULL, NULL, 0 },
};
