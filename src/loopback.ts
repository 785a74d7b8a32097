/** Whether a host is this machine: `localhost`, 127.0.0.0/8 or `::1`, the last also in brackets as URLs write it. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name === '::1' || name === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(name);
}

/** An https address without user and password, which fetch refuses; where `allowLocal`, also one of http on this machine. */
export function isSecureUrl(text: string, allowLocal: boolean): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username || password) return false;
  return protocol === 'https:' || (protocol === 'http:' && allowLocal && isLoopback(hostname));
}
