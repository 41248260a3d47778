/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file own.h  Names in certificates; this host: its name and the address at which others reach it. */
#ifndef EHCERT_OWN_H
#define EHCERT_OWN_H

#include <stddef.h>

#include "cluster/address.h"

#define OWN_PORT "7411"

/** This host's name, "" if it has none that a certificate may have. */
void own_name(char *host, size_t size);
/** Whether a certificate may have this name. 0, or an exit code after a message. */
int own_check_host(const char *host);
int own_check_cluster(const char *cluster);
/** The name that is given, or this host's. 0, or an exit code after a message. */
int own_host(const char *given, char *host, size_t size);
/**
 * The address that is given, with or without a port; or else the only one of this host's interfaces
 * that is not a loopback and not local to a link, an IPv4 one if there are both. 0, or an exit code.
 */
int own_address(const char *given, struct address *out);
/** Whether the directory and the path of a configuration may stand in quotes. 0, or an exit code. */
int own_directory(const char *given, char *path, size_t size);

#endif
