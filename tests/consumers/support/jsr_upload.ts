import { join } from "node:path";
import { ROOT } from "./package.ts";
import { runOrThrow } from "../../../scripts/program.ts";

/** The files that `deno publish` uploads, as the registry would serve them. */
export interface JsrUpload {
  /** The package's name, such as `@trellis/fn`. */
  readonly name: string;
  readonly version: string;
  /** Export to source file, as the uploaded deno.json has them. */
  readonly exports: Readonly<Record<string, string>>;
  /** The uploaded import map: its versions are in the rewritten sources. */
  readonly imports: Readonly<Record<string, string>>;
  /** Bytes by path, which starts with a slash. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/**
 * Runs `deno publish` against a local server that implements the part of JSR's API that it calls, and returns what it
 * uploads. Nothing leaves the machine: the server accepts the upload and keeps it in memory.
 *
 * @returns The uploaded files, with imports as `deno publish` rewrites them.
 */
export async function captureUpload(): Promise<JsrUpload> {
  let archive: Uint8Array<ArrayBuffer> | undefined;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      if (request.method === "POST") {
        archive = await request.bytes();
        return Response.json({ id: "1", status: "success", error: null });
      }
      // the package exists, this version of it does not
      if (/^\/api\/scopes\/\w+\/packages\/\w+$/.test(pathname)) {
        return Response.json({
          name: "fn",
        });
      }
      return new Response("not found", { status: 404 });
    },
  );
  try {
    const args = ["publish", "--allow-dirty", "--no-check", "--token", "stand-in"];
    await runOrThrow(Deno.execPath(), args, {
      cwd: ROOT,
      env: { JSR_URL: `http://127.0.0.1:${server.addr.port}` },
    });
  } finally {
    await server.shutdown();
  }
  if (archive === undefined) throw new Error("deno publish uploaded nothing");
  return await readUpload(archive);
}

async function readUpload(archive: Uint8Array<ArrayBuffer>): Promise<JsrUpload> {
  const folder = await Deno.makeTempDir({ prefix: "trellis-jsr-" });
  try {
    const file = join(folder, "upload.tgz");
    await Deno.writeFile(file, archive);
    await runOrThrow("tar", ["xzf", file, "--no-same-owner", "-C", folder]);
    await Deno.remove(file);
    const files = new Map<string, Uint8Array<ArrayBuffer>>();
    for (const path of listFiles(folder)) files.set(path, await Deno.readFile(join(folder, path)));
    const { name, version, exports, imports } = JSON.parse(
      new TextDecoder().decode(files.get("/deno.json")),
    );
    return { name, version, exports, imports, files };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function listFiles(folder: string, inside = ""): string[] {
  return [...Deno.readDirSync(join(folder, inside))].flatMap(({ name, isDirectory }) => {
    const path = `${inside}/${name}`;
    return isDirectory ? listFiles(folder, path) : [path];
  }).sort();
}
