// elf
