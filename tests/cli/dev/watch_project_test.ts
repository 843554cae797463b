import { assertEquals } from "@std/assert";
import { join } from "node:path";
import type { DevServerOptions } from "../../../cli/dev/dev_server_options.ts";
import type { LocalProject } from "../../../cli/dev/open_project.ts";
import { type Followers, watchProject } from "../../../cli/dev/watch_project.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

Deno.test("watchProject() watches nothing any more when it is stopped during a reload", async () => {
  await withTempFolder({ "a.ts": "1" }, async (root) => {
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const functions: never[] = [];
    let reloads = 0;
    const store = {
      list: () => functions,
      folders: () => [],
      async refresh(): Promise<void> {
        reloads++;
        started.resolve();
        await ended.promise;
      },
    };
    const watcher = watchProject(
      { root } as DevServerOptions,
      { environment: { refresh: () => false }, store } as unknown as LocalProject,
      {
        migrations: { update() {}, folders: () => [] },
        clientTypes: { update() {} },
      } as unknown as Followers,
    );
    await Deno.writeTextFile(join(root, "a.ts"), "2");
    await started.promise;
    watcher.stop();
    ended.resolve();
    // the folders are watched again after a reload
    await new Promise((resolve) => setTimeout(resolve, 10));
    await Deno.writeTextFile(join(root, "a.ts"), "3");
    await new Promise((resolve) => setTimeout(resolve, 200));
    assertEquals(reloads, 1);
  });
});
