import { createServer, type Socket } from "node:net";

/** Mail as the server received it. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body. */
  readonly data: string;
}

/** SMTP server on the loopback interface (RFC 5321), without TLS. */
export interface SmtpServer {
  readonly url: string;
  readonly mails: ReceivedMail[];
  /** Answers the next mails for this address with a status instead of accepting them. */
  refuse(address: string, answer: string): void;
  stop(): Promise<void>;
}

/** Starts a server that accepts every mail. */
export async function startSmtpServer(): Promise<SmtpServer> {
  const mails: ReceivedMail[] = [];
  const refused = new Map<string, string>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    serve(socket, mails, refused);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refuse: (address, answer) => void refused.set(address, answer),
    async stop(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function serve(socket: Socket, mails: ReceivedMail[], refused: Map<string, string>): void {
  let buffer = "";
  let isData = false;
  let mail = { from: "", to: [] as string[] };
  const answer = (text: string): void => void socket.write(`${text}\r\n`);
  answer("220 test ESMTP");
  socket.setEncoding("utf8");
  socket.on("data", (chunk) => {
    buffer += chunk;
    for (;;) {
      const end = buffer.indexOf(isData ? "\r\n.\r\n" : "\r\n");
      if (end < 0) return;
      const text = buffer.slice(0, end);
      buffer = buffer.slice(end + (isData ? 5 : 2));
      if (isData) {
        isData = false;
        mails.push({ ...mail, data: text });
        mail = { from: "", to: [] };
        answer("250 accepted");
      } else isData = command(text);
    }
  });

  function command(text: string): boolean {
    const word = text.slice(0, 4).toUpperCase();
    const address = text.slice(text.indexOf("<") + 1, text.indexOf(">"));
    if (word === "EHLO" || word === "HELO") answer("250 test");
    else if (word === "MAIL") {
      mail.from = address;
      answer("250 ok");
    } else if (word === "RCPT") {
      const refusal = refused.get(address);
      if (refusal === undefined) mail.to.push(address);
      answer(refusal ?? "250 ok");
    } else if (word === "DATA") {
      answer("354 go on");
      return true;
    } else if (word === "QUIT") {
      answer("221 bye");
      socket.end();
    } else answer("250 ok");
    return false;
  }
}
