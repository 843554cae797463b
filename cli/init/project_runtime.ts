/** The local runtime of a project; deployed functions always run on Node.js in Lambda. */
export type ProjectRuntime = "node" | "deno";
