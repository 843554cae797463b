/** The esbuild namespace of remote modules. */
export const REMOTE_NAMESPACE = "remote";
