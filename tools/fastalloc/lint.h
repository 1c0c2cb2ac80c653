/* lint.h: what stands in a configuration without error, and can never matter. */
#ifndef FASTALLOC_LINT_H
#define FASTALLOC_LINT_H

#include "configuration.h"

/* A note is about this machine as it is now: another time the rule may matter. */
enum severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE, SEVERITY_COUNT };

/* `at` points into the configuration's text. */
typedef void lint_report(void *context, enum severity severity, const char *at, const char *message);

/* Tell report what is certain of a configuration that parsed without error. The order is
 * that of the sections. */
void lint(const struct configuration *configuration, lint_report *report, void *context);

#endif
