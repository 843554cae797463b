import { type AddressInfo, createServer, type Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { createServerCertificate } from "./certificate.ts";
import { accessDenied, CANCEL_REQUEST, GSS_REQUEST, SSL_REQUEST } from "./connection.ts";
import { errorResponse, PayloadReader } from "./wire.ts";

/** Options of a listener. */
export interface ListenerOptions {
  readonly hostname: string;
  /** Port; 0 for a free one. */
  readonly port: number;
  /** Called with a client after its TLS handshake. */
  onSecure(socket: Socket): void;
  /** Called for an unencrypted CancelRequest, as sent by older clients. */
  onCancel(processId: number, secretKey: number): void;
}

/** Listening socket on the loopback interface. */
export interface Listener {
  readonly port: number;
  /** Certificate authority in PEM. */
  readonly ca: string;
  close(): Promise<void>;
}

/** First byte of a TLS handshake record (RFC 8446, 5.1). */
const TLS_HANDSHAKE = 0x16;

/**
 * Listens for clients that use TLS: directly with ALPN `postgresql`, or after an SSLRequest.
 *
 * An unencrypted client is rejected before it can send its token.
 */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { key, cert, ca } = createServerCertificate([
    ...new Set([options.hostname.split(":")[0], "localhost", "127.0.0.1"]),
  ]);
  const secureContext = createSecureContext({ key, cert });
  const sockets = new Set<Socket>();

  function secure(socket: Socket, isDirect: boolean): void {
    const upgraded = new TLSSocket(socket, {
      isServer: true,
      secureContext,
      ALPNProtocols: ["postgresql"],
    });
    upgraded.on("error", () => upgraded.destroy());
    upgraded.once("secure", () => {
      // direct TLS without ALPN is rejected, so that other protocols are not accepted
      if (isDirect && upgraded.alpnProtocol !== "postgresql") upgraded.destroy();
      else options.onSecure(upgraded);
    });
  }

  function greet(socket: Socket): void {
    socket.once("data", (chunk: Uint8Array) => {
      socket.pause();
      if (chunk[0] === TLS_HANDSHAKE) {
        socket.unshift(chunk);
        return secure(socket, true);
      }
      const reader = new PayloadReader(
        chunk.length >= 16 ? chunk.subarray(4, 16) : chunk.subarray(4),
      );
      const code = reader.remaining >= 4 ? reader.int32() : 0;
      if (code === SSL_REQUEST) {
        socket.write("S");
        return secure(socket, false);
      }
      if (code === GSS_REQUEST) {
        socket.write("N");
        greet(socket);
        return socket.resume();
      }
      if (code === CANCEL_REQUEST && reader.remaining === 8) {
        options.onCancel(reader.int32(), reader.int32());
        return socket.end();
      }
      socket.end(errorResponse(accessDenied()));
    });
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    greet(socket);
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });

  function close(): Promise<void> {
    return new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  }

  return { port, ca, close };
}
