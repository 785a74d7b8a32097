/** Whether a host is this machine: `localhost`, 127.0.0.0/8 or `::1`, the last also in brackets as URLs write it. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name === '::1' || name === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(name);
}
