// SPDX-License-Identifier: GPL-2.0-or-later
#include "message.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/ehsched.h>

#include "grammar.h"

#define MESSAGE_MAX 20000
#define NEST_DEPTH 3
#define NOBODY 65534

/* What is being built. Attributes that do not fit are left out. */
struct message {
	_Alignas(8) uint8_t data[MESSAGE_MAX];
	size_t len;
};

static struct message message;

static struct nlattr *attr_put(int type, const void *value, size_t len)
{
	struct nlattr *attr = (struct nlattr *)(message.data + message.len);

	if (message.len + NLA_ALIGN(NLA_HDRLEN + len) > MESSAGE_MAX)
		return NULL;
	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + len;
	memset(attr + 1, 0, NLA_ALIGN(len));
	if (value)
		memcpy(attr + 1, value, len);
	message.len += NLA_ALIGN(attr->nla_len);
	return attr;
}

static struct nlmsghdr *header_put(struct scene *scene, int type, int flags, int cmd, int version)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)(message.data + message.len);
	struct genlmsghdr *genl = NLMSG_DATA(nlh);

	memset(nlh, 0, NLMSG_HDRLEN + GENL_HDRLEN);
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	nlh->nlmsg_seq = ++scene->seq;
	genl->cmd = cmd;
	genl->version = version;
	message.len += NLMSG_HDRLEN + GENL_HDRLEN;
	return nlh;
}

/* A right one to the family. */
static struct nlmsghdr *request_put(struct scene *scene, int cmd)
{
	return header_put(scene, scene->family, NLM_F_REQUEST | NLM_F_ACK, cmd, EHS_FAMILY_VERSION);
}

static void header_end(struct nlmsghdr *nlh)
{
	nlh->nlmsg_len = message.data + message.len - (uint8_t *)nlh;
}

static void message_send(const struct scene *scene, unsigned int i, bool nobody)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	/* of an empty datagram the kernel warns, once, whoever the family is */
	if (scene->sockets[i] < 0 || !message.len)
		return;
	if (nobody && seteuid(NOBODY))
		return;
	/* what comes of it is the kernel's business; the log and the checks after say whether it was right */
	sendto(scene->sockets[i], message.data, message.len, MSG_DONTWAIT,
	       (struct sockaddr *)&kernel, sizeof(kernel));
	if (nobody && seteuid(0))
		_exit(2);
}

/* A number that the grammar allows, its bounds and small ones more often. */
static uint64_t number_inside(const struct attribute *attr, struct tape *tape)
{
	uint64_t range = attr->max - attr->min;

	switch (tape_below(tape, 5)) {
	case 0:
		return attr->min;
	case 1:
		return attr->max;
	case 2:
	case 3:
		return attr->min + (range > 4 ? tape_below(tape, 5) : tape_below(tape, range + 1));
	default:
		return attr->min + (range + 1 ? tape_below(tape, range + 1) : tape_below(tape, 0));
	}
}

static uint64_t number_any(const struct attribute *attr, struct tape *tape)
{
	switch (tape_below(tape, 4)) {
	case 0:
		return attr->max + 1;
	case 1:
		return attr->min - 1;
	case 2:
		return 1ull << tape_below(tape, 64);
	default:
		return tape_below(tape, 0);
	}
}

static uint64_t number(const struct scene *scene, const struct attribute *attr, struct tape *tape)
{
	if (tape_one_in(tape, 10))
		return number_any(attr, tape);
	switch (attr->kind) {
	case KIND_FD:
		return scene_fd(scene, tape);
	case KIND_STUB:
		return tape_one_in(tape, 4) ? scene_fd(scene, tape) : (uint32_t)scene->stub_fd;
	case KIND_PID:
		return scene_pid(scene, tape);
	case KIND_COOKIE:
		return scene_cookie(scene, tape);
	default:
		return number_inside(attr, tape);
	}
}

/* Return: length. The NUL at its end is missing at times, or is in the middle. */
static size_t string(const struct scene *scene, const struct attribute *attr, struct tape *tape,
		     char *to, size_t room)
{
	size_t len, max = attr->max ? attr->max : 16;

	if (attr->kind == KIND_PATH && !tape_one_in(tape, 6)) {
		const char *path = scene_path(scene, tape);

		len = strlen(path) + 1;
		memcpy(to, path, len);
		return len - tape_one_in(tape, 10);
	}
	switch (tape_below(tape, 6)) {
	case 0:
		len = max + tape_below(tape, 4);
		break;
	case 1:
		len = tape_below(tape, 2);
		break;
	case 2:
		len = tape_below(tape, room);
		break;
	default:
		len = tape_below(tape, 16);
	}
	memset(to, 'a', len);
	if (attr->kind == KIND_PATH)
		to[0] = '/';
	if (len && !tape_one_in(tape, 6))
		to[len - 1] = '\0';
	if (len && tape_one_in(tape, 10))
		to[tape_below(tape, len)] = tape_below(tape, 256);
	return len;
}

static void attribute_random(struct scene *scene, unsigned int set, unsigned int number_of,
			     unsigned int depth, struct tape *tape);

static void attribute_by_type(struct scene *scene, const struct attribute *attr, unsigned int type,
			      unsigned int depth, struct tape *tape)
{
	struct nlattr *nest;
	char text[8192];
	uint64_t value;
	unsigned int n;

	switch (attr->type) {
	case TYPE_U32:
	case TYPE_U64:
		value = number(scene, attr, tape);
		attr_put(type, &value, attr->type == TYPE_U32 ? 4 : 8);
		break;
	case TYPE_STRING:
		attr_put(type, text, string(scene, attr, tape, text, sizeof(text)));
		break;
	case TYPE_NEST:
		nest = attr_put(type | (tape_one_in(tape, 4) ? 0 : NLA_F_NESTED), NULL, 0);
		for (n = tape_below(tape, 4); nest && n && depth < NEST_DEPTH; n--)
			attribute_random(scene, attr->nested, 0, depth + 1, tape);
		if (nest)
			nest->nla_len = message.data + message.len - (uint8_t *)nest;
		break;
	default:
		attr_put(type, NULL, 0);
	}
}

/* What is said of an attribute and is not true. */
static void attribute_mutate(struct nlattr *attr, struct tape *tape)
{
	switch (tape_below(tape, 6)) {
	case 0:
		attr->nla_type ^= NLA_F_NESTED;
		break;
	case 1:
		attr->nla_type ^= NLA_F_NET_BYTEORDER;
		break;
	case 2:
		attr->nla_len += tape_below(tape, 9) - 4;
		break;
	case 3:
		attr->nla_len = tape_below(tape, 65536);
		break;
	case 4:
		attr->nla_type = tape_below(tape, 65536);
		break;
	case 5:
		/* another size, and the header says so */
		if (message.len + 8 <= MESSAGE_MAX) {
			attr->nla_len += 4 * (1 + tape_below(tape, 2));
			message.len = (uint8_t *)attr - message.data + NLA_ALIGN(attr->nla_len);
		}
		break;
	}
}

/* Attribute @number_of of the set; 0: any, sometimes one that the set does not have. */
static void attribute_random(struct scene *scene, unsigned int set, unsigned int number_of,
			     unsigned int depth, struct tape *tape)
{
	const struct attribute_set *from = &sets[set];
	size_t before = message.len;

	if (!number_of)
		number_of = tape_below(tape, from->n + 4);
	if (number_of && number_of <= from->n)
		attribute_by_type(scene, &from->attributes[number_of], number_of, depth, tape);
	else
		attr_put(tape_one_in(tape, 2) ? number_of : tape_below(tape, 65536), NULL,
			 tape_below(tape, 16));
	if (message.len > before && tape_one_in(tape, 16))
		attribute_mutate((struct nlattr *)(message.data + before), tape);
}

static void attributes_random(struct scene *scene, const struct command *command, struct tape *tape)
{
	unsigned int n, i, strange = tape_one_in(tape, 5);
	bool many = __builtin_popcount(command->takes) > 4;

	/* each that the operation takes, some of them twice; few of many */
	for (i = 1; i <= sets[command->set].n; i++) {
		if (!(command->takes & 1u << i))
			continue;
		n = tape_one_in(tape, 8) ? 0 : 1 + tape_one_in(tape, 16);
		for (n = many ? tape_below(tape, 3) : n; n; n--)
			attribute_random(scene, command->set, i, 0, tape);
	}
	for (n = strange ? tape_below(tape, 6) : 0; n; n--)
		attribute_random(scene, command->set, 0, 0, tape);
	/* more than fits into a page */
	if (tape_one_in(tape, 200))
		for (n = tape_below(tape, 2000); n; n--)
			attr_put(1 + n % sets[command->set].n, NULL, 4);
}

static int flags_random(const struct command *command, struct tape *tape)
{
	int flags = NLM_F_REQUEST;

	if (command->can_dump && (!command->can_do || tape_one_in(tape, 3)))
		flags |= NLM_F_DUMP;
	else if (!tape_one_in(tape, 4))
		flags |= NLM_F_ACK;
	if (tape_one_in(tape, 6))
		flags ^= 1 << tape_below(tape, 16);
	if (tape_one_in(tape, 16))
		flags = tape_below(tape, 65536);
	return flags;
}

static void message_mutate(struct nlmsghdr *nlh, struct tape *tape)
{
	size_t len = nlh->nlmsg_len;
	unsigned int n;

	switch (tape_below(tape, 6)) {
	case 0:
		/* cut, and the header says so */
		nlh->nlmsg_len = tape_below(tape, len + 1);
		message.len = (uint8_t *)nlh - message.data + NLMSG_ALIGN(nlh->nlmsg_len);
		break;
	case 1:
		/* cut, and the header does not say so */
		message.len = (uint8_t *)nlh - message.data + tape_below(tape, len + 1);
		break;
	case 2:
		nlh->nlmsg_len += tape_below(tape, 16);
		break;
	case 3:
		nlh->nlmsg_len = tape_below(tape, 1ull << 32);
		break;
	case 4:
		nlh->nlmsg_type = tape_below(tape, 65536);
		break;
	case 5:
		for (n = 1 + tape_below(tape, 4); n; n--)
			((uint8_t *)nlh)[tape_below(tape, len)] = tape_below(tape, 256);
		break;
	}
}

static void message_random(struct scene *scene, struct tape *tape)
{
	unsigned int cmd = tape_below(tape, nr_commands);
	const struct command *command = &commands[cmd];
	struct nlmsghdr *nlh;

	if (message.len + 4096 > MESSAGE_MAX)
		return;
	/* by its place in the table the unused number 0, too; others now and then */
	nlh = header_put(scene, scene->family, flags_random(command, tape),
			 tape_one_in(tape, 30) ? tape_below(tape, 256) : cmd,
			 tape_one_in(tape, 10) ? tape_below(tape, 256) : EHS_FAMILY_VERSION);
	if (tape_one_in(tape, 30))
		((struct genlmsghdr *)NLMSG_DATA(nlh))->reserved = tape_below(tape, 65536);
	attributes_random(scene, command, tape);
	header_end(nlh);
	if (tape_one_in(tape, 12))
		message_mutate(nlh, tape);
}

void message_send_random(struct scene *scene, struct tape *tape)
{
	unsigned int i = tape_below(tape, SCENE_SOCKETS), n;

	message.len = 0;
	for (n = tape_one_in(tape, 8) ? 1 + tape_below(tape, 6) : 1; n; n--)
		message_random(scene, tape);
	message_send(scene, i, tape_one_in(tape, 12));
}

void message_send_controller(struct scene *scene, struct tape *tape)
{
	unsigned int i = tape_below(tape, SCENE_SOCKETS);
	struct nlmsghdr *nlh;
	uint16_t id = scene->family;
	uint32_t op;

	message.len = 0;
	nlh = header_put(scene, GENL_ID_CTRL, NLM_F_REQUEST | NLM_F_DUMP,
			 tape_one_in(tape, 4) ? CTRL_CMD_GETFAMILY : CTRL_CMD_GETPOLICY, 2);
	if (tape_one_in(tape, 2))
		attr_put(CTRL_ATTR_FAMILY_ID, &id, sizeof(id));
	else
		attr_put(CTRL_ATTR_FAMILY_NAME, EHS_FAMILY_NAME, sizeof(EHS_FAMILY_NAME));
	if (tape_one_in(tape, 2)) {
		op = tape_below(tape, nr_commands + 2);
		attr_put(CTRL_ATTR_OP, &op, sizeof(op));
	}
	header_end(nlh);
	message_send(scene, i, tape_one_in(tape, 4));
}

static void overload(struct scene *scene, unsigned int i, uint32_t limit)
{
	uint32_t zero = 0, index = EHS_INDEX_TASKS, managed = scene->cgroups[0],
		 guest = scene->cgroups[2], stub = scene->stub_fd, bound = EHS_MAX_TIME_LIMIT;
	struct nlmsghdr *nlh;

	message.len = 0;
	nlh = request_put(scene, EHS_CMD_NODE_SET);
	attr_put(EHS_A_NODE_THRESHOLD, &zero, sizeof(zero));
	attr_put(EHS_A_NODE_THRESHOLD_LENGTH, &zero, sizeof(zero));
	attr_put(EHS_A_NODE_LOAD_INDEX, &index, sizeof(index));
	attr_put(EHS_A_NODE_MAX_TIME_LIMIT, &bound, sizeof(bound));
	attr_put(EHS_A_NODE_TIME_LIMIT, &limit, sizeof(limit));
	attr_put(EHS_A_NODE_MANAGED_CGROUP_FD, &managed, sizeof(managed));
	attr_put(EHS_A_NODE_GUEST_CGROUP_FD, &guest, sizeof(guest));
	header_end(nlh);
	nlh = request_put(scene, EHS_CMD_AGENT_REGISTER);
	attr_put(EHS_A_AGENT_STUB_FD, &stub, sizeof(stub));
	header_end(nlh);
	message_send(scene, i, false);
}

void message_overload(struct scene *scene, struct tape *tape, unsigned int i)
{
	overload(scene, i, 1 + tape_below(tape, EHS_MAX_TIME_LIMIT));
}

void message_overload_now(struct scene *scene, unsigned int i)
{
	overload(scene, i, 1000);
}

void message_bypass(struct scene *scene, unsigned int i, uint32_t pid)
{
	struct nlmsghdr *nlh;

	message.len = 0;
	nlh = request_put(scene, EHS_CMD_TASK_BYPASS);
	attr_put(EHS_A_TASK_PID, &pid, sizeof(pid));
	header_end(nlh);
	message_send(scene, i, false);
}

void message_answer(struct scene *scene, struct tape *tape)
{
	static const char token[] = "sleep";
	uint32_t verdict = tape_one_in(tape, 2) ? EHS_VERDICT_LOCAL : EHS_VERDICT_REMOTE;
	uint32_t reason =
		EHS_REASON_SENDER + tape_below(tape, EHS_REASON_NO_MODULE - EHS_REASON_SENDER + 1);
	uint64_t cookie =
		scene->cookies[tape_one_in(tape, 4) ? tape_below(tape, SCENE_COOKIES) : 0];
	unsigned int i;
	struct nlmsghdr *nlh;

	message.len = 0;
	nlh = request_put(scene, EHS_CMD_PLACE_VERDICT);
	attr_put(EHS_A_PLACE_COOKIE, &cookie, sizeof(cookie));
	attr_put(EHS_A_PLACE_VERDICT, &verdict, sizeof(verdict));
	if (verdict == EHS_VERDICT_LOCAL)
		attr_put(EHS_A_PLACE_REASON, &reason, sizeof(reason));
	else
		attr_put(EHS_A_PLACE_TOKEN, token, sizeof(token) - tape_one_in(tape, 2) * 5);
	header_end(nlh);
	/* the agent is one of them, the others must be refused */
	for (i = 0; i < SCENE_SOCKETS; i++)
		message_send(scene, i, false);
}
