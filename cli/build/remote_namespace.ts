/** The namespace of modules that Deno fetched. */
export const REMOTE_NAMESPACE = "remote";
