/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file ehcert.h  What ehctl starts for all that makes certificates: cert, init and join. */
#ifndef EHCERT_H
#define EHCERT_H

#include <stdbool.h>

#include "tools/common/common.h"

#define EHCERT_DIR "/etc/ehsched"
#define EHCERT_DAYS 3650 /**< of an authority, and of what nobody renews */
#define EHCERT_RENEWED 90 /**< of a host whose agents renew what lasts as long */

/** argv[0] is the name; --json and --help are no longer in argv. They return the exit code. */
int cert_run(int argc, char **argv, bool json);
int init_run(int argc, char **argv, bool json);
int join_run(int argc, char **argv, bool json);

#endif
