/** Names of the kinds of new projects; the first is the default. */
export const TEMPLATE_NAMES = ["notes", "api", "accounts", "jobs"] as const;

/** Name of a kind of new project. */
export type TemplateName = (typeof TEMPLATE_NAMES)[number];
