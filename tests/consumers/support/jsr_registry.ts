import { createHash } from "node:crypto";
import { join } from "node:path";
import type { JsrUpload } from "./jsr_upload.ts";
import { runOrThrow } from "../../../scripts/program.ts";

/** A local registry that serves one package as JSR does, in its own form and in npm's. */
export interface JsrRegistry extends AsyncDisposable {
  /** For `JSR_URL`, and as the npm registry of the scope `@jsr`. */
  readonly url: string;
  /** Paths that were requested, in order. */
  readonly requested: readonly string[];
}

/**
 * Serves an upload as JSR does: metadata with checksums and the files, and the package's form for npm clients.
 *
 * @param upload What `deno publish` uploaded.
 * @param npmArchive The package for npm clients, see {@linkcode packForNpm}; without it there is none.
 */
export function startJsrRegistry(
  upload: JsrUpload,
  npmArchive?: Uint8Array<ArrayBuffer>,
): JsrRegistry {
  const requested: string[] = [];
  const { name, version } = upload;
  const npmName = toNpmName(name);
  const routes: Record<string, (origin: string) => Response> = {
    [`/${name}/meta.json`]: () =>
      Response.json({ name, latest: version, versions: { [version]: {} } }),
    [`/${name}/${version}_meta.json`]: () =>
      Response.json({ exports: upload.exports, manifest: describeFiles(upload) }),
    [`/${npmName}`]: (origin) => describeForNpm(upload, npmArchive, origin),
    [`/${npmName}.tgz`]: () => new Response(npmArchive),
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { origin, pathname } = new URL(request.url);
    const path = decodeURIComponent(pathname);
    requested.push(path);
    const route = routes[path];
    if (route !== undefined) return route(origin);
    const bytes = upload.files.get(path.slice(`/${name}/${version}`.length));
    if (bytes === undefined || !path.startsWith(`/${name}/${version}/`)) {
      return new Response(null, { status: 404 });
    }
    const type = path.endsWith(".ts") ? "text/typescript" : "text/plain";
    return new Response(bytes, { headers: { "Content-Type": `${type}; charset=utf-8` } });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    requested,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function describeFiles({ files }: JsrUpload): Record<string, { size: number; checksum: string }> {
  return Object.fromEntries([...files].map(([path, bytes]) => [path, {
    size: bytes.length,
    checksum: `sha256-${createHash("sha256").update(bytes).digest("hex")}`,
  }]));
}

function describeForNpm(
  { name, version, imports }: JsrUpload,
  archive: Uint8Array<ArrayBuffer> | undefined,
  origin: string,
): Response {
  if (archive === undefined) return new Response(null, { status: 404 });
  const npmName = toNpmName(name);
  const dist = {
    tarball: `${origin}/${npmName}.tgz`,
    integrity: `sha512-${createHash("sha512").update(archive).digest("base64")}`,
  };
  const dependencies = listDependencies(imports, readManifest(archive));
  const manifest = { name: npmName, version, dist, dependencies };
  return Response.json({
    name: npmName,
    "dist-tags": { latest: version },
    versions: { [version]: manifest },
  });
}

const manifests = new WeakMap<Uint8Array, readonly string[]>();

function readManifest(archive: Uint8Array): readonly string[] {
  return manifests.get(archive) ?? [];
}

/** JSR makes a dependency of each `npm:` specifier in the sources, with the range in the sources. */
function listDependencies(
  imports: JsrUpload["imports"],
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => [name, imports[name].slice(`npm:${name}@`.length)]),
  );
}

function toNpmName(name: string): string {
  return `@jsr/${name.slice(1).replace("/", "__")}`;
}

/**
 * Makes the package that JSR would serve to npm clients from an upload: JavaScript, declarations, and the dependencies of
 * the sources. The transpiler is that of `deno pack`, which like JSR's derives declarations without a type check.
 *
 * @param upload What `deno publish` uploaded.
 * @returns The archive.
 */
export async function packForNpm(upload: JsrUpload): Promise<Uint8Array<ArrayBuffer>> {
  const folder = await Deno.makeTempDir({ prefix: "trellis-jsr-npm-" });
  const packed = await Deno.makeTempDir({ prefix: "trellis-jsr-npm-" });
  try {
    for (const [path, bytes] of upload.files) {
      await Deno.mkdir(join(folder, path, ".."), { recursive: true });
      await Deno.writeFile(join(folder, path), bytes);
    }
    const { version, exports } = upload;
    const name = toNpmName(upload.name);
    // without the import map: JSR has none either
    await Deno.writeTextFile(join(folder, "deno.json"), JSON.stringify({ name, version, exports }));
    const archive = join(packed, "raw.tgz");
    await runOrThrow(
      Deno.execPath(),
      ["pack", "--allow-dirty", "--no-source-maps", "-o", archive],
      {
        cwd: folder,
      },
    );
    await runOrThrow("tar", ["xzf", archive, "--no-same-owner", "-C", packed]);
    const file = join(packed, "package", "package.json");
    const manifest = JSON.parse(await Deno.readTextFile(file));
    const names = Object.keys(manifest.dependencies);
    manifest.dependencies = listDependencies(upload.imports, names);
    await Deno.writeTextFile(file, JSON.stringify(manifest));
    await runOrThrow("tar", ["czf", archive, "-C", packed, "package"]);
    const bytes = await Deno.readFile(archive);
    manifests.set(bytes, names);
    return bytes;
  } finally {
    await Deno.remove(folder, { recursive: true });
    await Deno.remove(packed, { recursive: true });
  }
}
