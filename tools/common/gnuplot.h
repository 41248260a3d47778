/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file gnuplot.h  Plots, drawn by gnuplot. */
#ifndef TOOLS_GNUPLOT_H
#define TOOLS_GNUPLOT_H

#include <stdio.h>

/** Lets `write` write gnuplot's script, and puts the SVG that gnuplot draws into the file `path` once it
 *  is whole. 0, or an exit code after a message; then no file is left behind that was not there. */
int gnuplot_draw(const char *path, void (*write)(FILE *script, const void *ctx), const void *ctx);

#endif
