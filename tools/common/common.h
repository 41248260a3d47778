/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file common.h  What the programs share that a user types, or that ehctl starts. */
#ifndef TOOLS_COMMON_H
#define TOOLS_COMMON_H

#include "command.h"
#include "gnuplot.h"
#include "options.h"
#include "parse.h"
#include "progress.h"
#include "recent.h"
#include "table.h"
#include "writer.h"

#endif
