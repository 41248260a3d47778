/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the program nl share: one socket, and talking over it. */
#ifndef NL_H
#define NL_H

#include <stdbool.h>
#include <stdint.h>
#include <netlink/netlink.h>

extern struct nl_sock *sock;
/* "ERRNO: text" of the last refusal */
extern char error_text[512];
/* the allocation of the kernel that is to fail in each request, 0 for none */
extern int nth;
/* it needed fewer */
extern bool not_reached;

void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...);
struct nl_cb *callbacks(void);
struct nl_msg *request(int cmd, int flags);
int talk(struct nl_msg *msg);
int report(int err);
int run(int argc, char **argv);
void open_socket(void);
/* bound to this port, or to any if it is 0 */
void open_socket_at(uint32_t port);
struct nl_msg *verdict(const char *cookie, const char *verdict, const char *reason,
		       const char *token);

/* show.c */

/* only keep the load, print nothing */
extern bool show_nothing;
/* of the node that was read last */
extern uint32_t show_load;
/* The number of a name, or of the number itself. */
uint32_t show_reason(const char *name);
uint32_t show_index(const char *name);
/* A callback of libnl. */
int show(struct nl_msg *msg, void *arg);

/* agent.c */
void take_request(struct nlmsghdr *nlh);
int cmd_agent(int argc, char **argv);
int cmd_try_register(int argc, char **argv);
int register_stub(const char *stub);
int cmd_serve(int argc, char **argv);
int cmd_programs(int argc, char **argv);

/* holder.c */
int cmd_as(int argc, char **argv);
int cmd_reuse(int argc, char **argv);

/* flood.c */
int cmd_flood(int argc, char **argv);
int cmd_slowest(int argc, char **argv);
int cmd_again(int argc, char **argv);
int cmd_while(int argc, char **argv);

/* wait.c */
int cmd_field(int argc, char **argv);
int cmd_counts(int argc, char **argv);
int cmd_wait(int argc, char **argv);

#endif /* NL_H */
