/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file screen.h  What is shown, and what keys do. */
#ifndef EHTOP_SCREEN_H
#define EHTOP_SCREEN_H

/** Shows it until a key ends it. The exit code. */
int screen_run(double delay);

#endif
