#ifndef EMULSION_DSL_VERSION_H_
#define EMULSION_DSL_VERSION_H_

// The one place that says which version this is: CHANGELOG.md names what each brought and what is
// stable. Programs print it for --version, and the SDK's packages (//:sdk) take it from here.
// Major, minor, patch.

#define EMULSION_VERSION "0.12.0"

#endif  // EMULSION_DSL_VERSION_H_
