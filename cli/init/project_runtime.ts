/** The local runtime of a project; deployed functions always run on Node.js in Lambda. */
export type ProjectRuntime = "node" | "deno";

/** How a project runs its scripts and the commands of this package. */
export const PROJECT_COMMANDS: Readonly<
  Record<ProjectRuntime, Readonly<Record<"install" | "run" | "test" | "trellis", string>>>
> = {
  node: { install: "npm install", run: "npm run", test: "npm test", trellis: "npx trellis" },
  deno: {
    // without a lock file, Deno may load the types of two copies of drizzle-orm
    install: "deno install",
    run: "deno task",
    test: "deno task test",
    trellis: "deno task trellis",
  },
};
