import { LocalAccounts } from "./accounts.ts";
import { answerAwsClient, assertNoPage, AWS_PATH } from "./aws/aws_sink.ts";
import { type LocalHandler, readBody } from "./http/http_server.ts";
import { createMailbox, MAIL_PATH } from "./mailbox.ts";
import { createMessageBus } from "./message_bus.ts";
import type { LocalServices } from "./local_services.ts";
import { createPageApi } from "./page_api.ts";
import { adoptOrigin } from "./reference.ts";
import { createRouteHandler } from "./route_handler.ts";
import { type BucketStore, openBucketStore } from "./aws/bucket_store.ts";
import { createS3Target, S3_PATH } from "./aws/s3_target.ts";
import { createSocketGateway } from "./socket_gateway.ts";
import { CONNECTIONS_PATH } from "./socket_paths.ts";
import { rmSync } from "node:fs";
import { join } from "node:path";

/**
 * Creates the endpoints of the local server: the stand-ins for AWS and for a mail service, the local
 * page, and the functions.
 *
 * @returns Handles a request of any path.
 */
export function createLocalEndpoints(services: LocalServices): LocalHandler {
  const { project: { recorder, store, database }, server, cleanup } = services;
  const bus = createMessageBus(services);
  const mailbox = createMailbox(recorder);
  const sockets = createSocketGateway(services);
  cleanup.add(() => sockets.close());
  server.onUpgrade((...handshake) => sockets.accept(...handshake));
  const answerS3 = createS3Target(openBuckets(services), bus.take);
  const answerRoute = createRouteHandler(services);
  // a session for any user may be created in a local database only
  const accounts = database.config === undefined ? undefined : new LocalAccounts(store);
  const page = createPageApi({ ...services, sent: bus.sent, mails: mailbox.mails, accounts });
  cleanup.add(() => page.close());

  return async function answer(request, response, url): Promise<void> {
    const path = url.pathname;
    if (path === AWS_PATH || path.startsWith(`${AWS_PATH}/`)) {
      assertNoPage(request);
      return answerAwsClient(request, response, await readBody(request), server.url, bus.take);
    }
    if (path.startsWith(`${CONNECTIONS_PATH}/`)) {
      return await sockets.answer(request, response, url);
    }
    if (path.startsWith(`${S3_PATH}/`)) return await answerS3(request, response, url);
    if (path === MAIL_PATH && request.method === "POST") {
      assertNoPage(request);
      mailbox.take((await readBody(request)).toString("utf8"));
      response.writeHead(202).end();
      return;
    }
    if (await page.answer(request, response, url)) return;
    if (accounts !== undefined) await adoptOrigin(request, () => accounts.findOrigin());
    await answerRoute(request, response, url);
  };
}

function openBuckets({ options, dataDir }: LocalServices): BucketStore {
  const folder = join(dataDir, "buckets");
  if (options.reset) rmSync(folder, { recursive: true, force: true });
  return openBucketStore(folder);
}
