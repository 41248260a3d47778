/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file cert_usage.h  Arguments of the commands that ehctl lists and ehcert runs. */
#ifndef TOOLS_CERT_USAGE_H
#define TOOLS_CERT_USAGE_H

#define CERT_USAGE "init [--cluster NAME] DIR | node DIR HOST… | list [DIR]"
#define CERT_USAGE_INIT "[--dir DIR] [--host NAME] [--address A[:PORT]] [--topology n,l] NAME"
#define CERT_USAGE_JOIN "[HOST[:PORT]] --token TOKEN [--dir DIR] [--host NAME] [--address A[:PORT]]"

#endif
