/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file version.h  The version of the programs, which the file VERSION alone decides. */
#ifndef VERSION_H
#define VERSION_H

#define VERSION_QUOTE_(text) #text
#define VERSION_QUOTE(text) VERSION_QUOTE_(text)
/** "0.1"; make defines EHSCHED_VERSION. */
#define VERSION VERSION_QUOTE(EHSCHED_VERSION)

#endif
