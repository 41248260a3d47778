/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file common.h  All that the programs share which a user types, or which ehctl starts. */
#ifndef TOOLS_COMMON_H
#define TOOLS_COMMON_H

#include "command.h"
#include "gnuplot.h"
#include "options.h"
#include "parse.h"
#include "progress.h"
#include "table.h"
#include "writer.h"

#endif
