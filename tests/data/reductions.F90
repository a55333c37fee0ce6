! A Fortran program that knows nothing of switches, for `use mpi` and, with F08, for `use mpi_f08`. It checks every result, and counts
! by MPI's rules alone which of its calls docs/mpi.md says go to the switches ("small"), and which are left to the library.
#ifdef F08
#define COMM_T type(MPI_Comm)
#define TYPE_T type(MPI_Datatype)
#define OP_T type(MPI_Op)
#define REQUEST_T type(MPI_Request)
#define STOPPED
#else
#define COMM_T integer
#define TYPE_T integer
#define OP_T integer
#define REQUEST_T integer
#define STOPPED , ierr
#endif

module counted
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  use iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  implicit none
  integer :: rank, ranks, ierr, turns = 0
  integer(int64) :: small = 0, others = 0

contains

  subroutine expect(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (.not. right) then
      write (0, *) 'rank ', rank, ': wrong ', what
      call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
    end if
  end subroutine

  ! Counts go round through those that matter: one frame, a frame and a word, all lanes, the most.
  integer function next_count()
    integer, parameter :: all(5) = [1, 4, 5, 17, 64]
    turns = turns + 1
    next_count = all(1 + mod(turns, 5))
  end function

  integer function value(r, i)
    integer, intent(in) :: r, i
    value = merge(-1, 1, mod(r, 2) == 1) * (r * 7 + mod(i, 9) + mod(i + r, 3) * 11)
  end function

  subroutine count_small(comm, calls)
    COMM_T, intent(in) :: comm
    integer, intent(in) :: calls
    integer :: all
    call MPI_Comm_size(comm, all STOPPED)
    if (all > 1) then
      small = small + calls
    else
      others = others + calls
    end if
  end subroutine

! All-reduce, the same in place, and reduce to a root that changes, in place there every second time.
#define REDUCES(NAME, KIND_T, EQUAL) \
  subroutine NAME(own, want, n, datatype, op, comm, what);\
    KIND_T, intent(in) :: own(64), want(64);\
    integer, intent(in) :: n;\
    TYPE_T, intent(in) :: datatype;\
    OP_T, intent(in) :: op;\
    COMM_T, intent(in) :: comm;\
    character(*), intent(in) :: what;\
    KIND_T :: got(64), here(64);\
    integer :: me, all, root;\
    call MPI_Comm_rank(comm, me STOPPED);\
    call MPI_Comm_size(comm, all STOPPED);\
    ierr = 77;\
    call MPI_Allreduce(own, got, n, datatype, op, comm, ierr);\
    call expect(ierr == MPI_SUCCESS .and. all_of(got(:n) EQUAL want(:n)), 'all-reduce of '//what);\
    here = own;\
    call MPI_Allreduce(MPI_IN_PLACE, here, n, datatype, op, comm STOPPED);\
    call expect(all_of(here(:n) EQUAL want(:n)), 'all-reduce in place of '//what);\
    root = mod(turns, all);\
    here = own;\
    if (me == root .and. mod(turns, 2) == 1) then;\
      call MPI_Reduce(MPI_IN_PLACE, here, n, datatype, op, root, comm STOPPED);\
    else;\
      call MPI_Reduce(own, here, n, datatype, op, root, comm STOPPED);\
    end if;\
    call expect(me /= root .or. all_of(here(:n) EQUAL want(:n)), 'reduce of '//what);\
    call count_small(comm, 3);\
  end subroutine

  REDUCES(reduce_int8, integer(int8), ==)
  REDUCES(reduce_int16, integer(int16), ==)
  REDUCES(reduce_int32, integer(int32), ==)
  REDUCES(reduce_int64, integer(int64), ==)
  REDUCES(reduce_real32, real(real32), ==)
  REDUCES(reduce_real64, real(real64), ==)
  REDUCES(reduce_logical, logical, .eqv.)

  logical function all_of(values)
    logical, intent(in) :: values(:)
    all_of = all(values)
  end function

! The arithmetic operations of a type; its values are small enough for every kind.
#define ARITHMETIC(NAME, REDUCE, KIND, CONVERT) \
  subroutine NAME(comm, datatype, what);\
    COMM_T, intent(in) :: comm;\
    TYPE_T, intent(in) :: datatype;\
    character(*), intent(in) :: what;\
    KIND :: own(64), total(64), least(64), most(64);\
    integer :: me, all, i, r;\
    call MPI_Comm_rank(comm, me STOPPED);\
    call MPI_Comm_size(comm, all STOPPED);\
    own = [(CONVERT(value(me, i)), i = 1, 64)];\
    do i = 1, 64;\
      total(i) = CONVERT(sum([(value(r, i), r = 0, all - 1)]));\
      least(i) = CONVERT(minval([(value(r, i), r = 0, all - 1)]));\
      most(i) = CONVERT(maxval([(value(r, i), r = 0, all - 1)]));\
    end do;\
    call REDUCE(own, total, next_count(), datatype, MPI_SUM, comm, what//', sum');\
    call REDUCE(own, least, next_count(), datatype, MPI_MIN, comm, what//', min');\
    call REDUCE(own, most, next_count(), datatype, MPI_MAX, comm, what//', max');\
  end subroutine

#define TO_INT8(x) int(x, int8)
#define TO_INT16(x) int(x, int16)
#define TO_INT32(x) int(x, int32)
#define TO_INT64(x) int(x, int64)
#define TO_REAL32(x) real(x, real32)
#define TO_REAL64(x) real(x, real64)
  ARITHMETIC(every_int8, reduce_int8, integer(int8), TO_INT8)
  ARITHMETIC(every_int16, reduce_int16, integer(int16), TO_INT16)
  ARITHMETIC(every_int32, reduce_int32, integer(int32), TO_INT32)
  ARITHMETIC(every_int64, reduce_int64, integer(int64), TO_INT64)
  ARITHMETIC(every_real32, reduce_real32, real(real32), TO_REAL32)
  ARITHMETIC(every_real64, reduce_real64, real(real64), TO_REAL64)

  subroutine bits(comm)
    COMM_T, intent(in) :: comm
    integer(int32) :: own(64), ands(64), ors(64), xors(64)
    integer :: me, all, i, r
    call MPI_Comm_rank(comm, me STOPPED)
    call MPI_Comm_size(comm, all STOPPED)
    own = [(value(me, i), i = 1, 64)]
    ands = [(value(0, i), i = 1, 64)]
    ors = ands
    xors = ands
    do r = 1, all - 1
      do i = 1, 64
        ands(i) = iand(ands(i), value(r, i))
        ors(i) = ior(ors(i), value(r, i))
        xors(i) = ieor(xors(i), value(r, i))
      end do
    end do
    call reduce_int32(own, ands, next_count(), MPI_INTEGER, MPI_BAND, comm, 'integer, bitwise and')
    call reduce_int32(own, ors, next_count(), MPI_INTEGER, MPI_BOR, comm, 'integer, bitwise or')
    call reduce_int32(own, xors, next_count(), MPI_INTEGER, MPI_BXOR, comm, 'integer, bitwise xor')
  end subroutine

  subroutine truths(comm)
    COMM_T, intent(in) :: comm
    logical :: own(64), ands(64), ors(64), xors(64)
    integer :: me, all, i, r
    call MPI_Comm_rank(comm, me STOPPED)
    call MPI_Comm_size(comm, all STOPPED)
    own = [(mod(value(me, i), 3) == 0, i = 1, 64)]
    ands = .true.
    ors = .false.
    xors = .false.
    do r = 0, all - 1
      do i = 1, 64
        ands(i) = ands(i) .and. mod(value(r, i), 3) == 0
        ors(i) = ors(i) .or. mod(value(r, i), 3) == 0
        xors(i) = xors(i) .neqv. mod(value(r, i), 3) == 0
      end do
    end do
    call reduce_logical(own, ands, next_count(), MPI_LOGICAL, MPI_LAND, comm, 'logical, and')
    call reduce_logical(own, ors, next_count(), MPI_LOGICAL, MPI_LOR, comm, 'logical, or')
    call reduce_logical(own, xors, next_count(), MPI_LOGICAL, MPI_LXOR, comm, 'logical, xor')
  end subroutine

  subroutine broadcasts(comm)
    COMM_T, intent(in) :: comm
    integer, parameter :: sizes(6) = [1, 8, 33, 256, 257, 5000]
    character(5000) :: text
    integer :: me, all, at, root, i, numbers(8)
    integer(MPI_ADDRESS_KIND) :: address
    TYPE_T :: absolute
    call MPI_Comm_rank(comm, me STOPPED)
    call MPI_Comm_size(comm, all STOPPED)
    do at = 1, 6
      root = mod(at, all)
      text = ' '
      if (me == root) text(:sizes(at)) = repeat(achar(64 + at), sizes(at))
      call MPI_Bcast(text, sizes(at), MPI_CHARACTER, root, comm STOPPED)
      call expect(text(:sizes(at)) == repeat(achar(64 + at), sizes(at)), 'broadcast')
      call expect(text(sizes(at) + 1:) == ' ', 'memory after a broadcast')
      if (sizes(at) <= 256) then
        call count_small(comm, 1)
      else
        others = others + 1
      end if
    end do
    ! An absolute address, which MPI_BOTTOM begins.
    numbers = 0
    if (me == 0) numbers = [(100 + i, i = 1, 8)]
    call MPI_Get_address(numbers, address STOPPED)
    call MPI_Type_create_hindexed(1, [8], [address], MPI_INTEGER, absolute STOPPED)
    call MPI_Type_commit(absolute STOPPED)
    call MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, comm STOPPED)
    call MPI_Type_free(absolute STOPPED)
    call seen(numbers)
    call expect(all_of(numbers == [(100 + i, i = 1, 8)]), 'broadcast from an absolute address')
    call count_small(comm, 1)
  end subroutine

  ! The compiler does not know who has written.
  subroutine seen(numbers)
    integer, intent(inout) :: numbers(*)
    if (ranks < 0) numbers(1) = 0
  end subroutine

  subroutine barrier(comm)
    COMM_T, intent(in) :: comm
    call MPI_Barrier(comm STOPPED)
    call count_small(comm, 1)
  end subroutine

  ! Several under way at once; the communicator has a group since its first barrier.
  subroutine nonblocking()
    integer, asynchronous :: own(5), sums(5), again(5), numbers(9)
    real(real64), asynchronous :: one, most, many(65), totals(65)
    REQUEST_T :: requests(6)
    integer :: turn, i, root
    do turn = 0, 4
      root = mod(turn, ranks)
      own = [(rank * 3 + turn + i, i = 0, 4)]
      again = own
      one = rank + turn
      most = 0
      many = turn
      numbers = 0
      if (rank == root) numbers = [(turn * i, i = 1, 9)]
      call MPI_Iallreduce(own, sums, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), ierr)
      call MPI_Ibcast(numbers, 9, MPI_INTEGER, root, MPI_COMM_WORLD, requests(2) STOPPED)
      call MPI_Ireduce(one, most, 1, MPI_DOUBLE_PRECISION, MPI_MAX, root, MPI_COMM_WORLD, requests(3) STOPPED)
      call MPI_Iallreduce(MPI_IN_PLACE, again, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(4) STOPPED)
      call MPI_Iallreduce(many, totals, 65, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, requests(5) STOPPED)
      call MPI_Ibarrier(MPI_COMM_WORLD, requests(6) STOPPED)
      call MPI_Waitall(6, requests, MPI_STATUSES_IGNORE STOPPED)
      call expect(all_of(sums == [(ranks * (turn + i) + 3 * ranks * (ranks - 1) / 2, i = 0, 4)]), 'non-blocking all-reduce')
      call expect(all_of(again == sums), 'non-blocking all-reduce in place')
      call expect(all_of(numbers == [(turn * i, i = 1, 9)]), 'non-blocking broadcast')
      call expect(rank /= root .or. most == ranks - 1 + turn, 'non-blocking reduce')
      call expect(all_of(totals == turn * ranks), 'non-blocking long sum')
      call count_small(MPI_COMM_WORLD, 5)
      others = others + 1
    end do
  end subroutine

  subroutine parts()
    COMM_T :: half, again, alone
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half STOPPED)
    call every_int32(half, MPI_INTEGER, 'integer in a part')
    call broadcasts(half)
    call MPI_Comm_dup(half, again STOPPED)
    call MPI_Comm_free(half STOPPED)
    call barrier(again)
    call MPI_Comm_free(again STOPPED)
    call MPI_Comm_split(MPI_COMM_WORLD, rank, 0, alone STOPPED)
    call every_int32(alone, MPI_INTEGER, 'integer alone')
    call MPI_Comm_free(alone STOPPED)
  end subroutine

  ! What switches cannot do, and PMPI, which is the library's own.
  subroutine left_to_the_library()
    real(real64) :: many(65), sums(65)
    complex :: z, zs
    integer :: own, product_of_all, i
    many = [(real(i, real64), i = 1, 65)]
    call MPI_Allreduce(many, sums, 65, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    call expect(ierr == MPI_SUCCESS .and. all_of(sums == many * ranks), 'long sum')
    own = rank + 1
    call MPI_Allreduce(own, product_of_all, 1, MPI_INTEGER, MPI_PROD, MPI_COMM_WORLD STOPPED)
    call expect(product_of_all == product([(i, i = 1, ranks)]), 'product')
    z = (1.0, -1.0)
    call MPI_Reduce(z, zs, 1, MPI_COMPLEX, MPI_SUM, 0, MPI_COMM_WORLD STOPPED)
    call expect(rank /= 0 .or. zs == z * ranks, 'sum of complex numbers')
    call MPI_Barrier(MPI_COMM_SELF STOPPED)
    others = others + 4
    call PMPI_Barrier(MPI_COMM_WORLD STOPPED)
  end subroutine

  ! With ranks in C: as `mixed` in reductions.c, call by call.
  subroutine mixed()
    integer :: turn, i, own(5), sums(5), numbers(12)
    integer :: many(65), totals(65)
    real(real64) :: one, most
    do turn = 0, 19
      own = [(rank * 3 + turn + i, i = 0, 4)]
      call MPI_Allreduce(own, sums, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD STOPPED)
      call expect(all_of(sums == [(ranks * (turn + i) + 3 * ranks * (ranks - 1) / 2, i = 0, 4)]), 'sum of both languages')
      one = rank + 0.5_real64 * turn
      call MPI_Reduce(one, most, 1, MPI_DOUBLE_PRECISION, MPI_MAX, mod(turn, ranks), MPI_COMM_WORLD STOPPED)
      call expect(rank /= mod(turn, ranks) .or. most == ranks - 1 + 0.5_real64 * turn, 'largest of both languages')
      numbers = 0
      if (rank == mod(turn, ranks)) numbers = [(turn * i, i = 1, 12)]
      call MPI_Bcast(numbers, 12, MPI_INTEGER, mod(turn, ranks), MPI_COMM_WORLD STOPPED)
      call expect(all_of(numbers == [(turn * i, i = 1, 12)]), 'broadcast to both languages')
      call MPI_Barrier(MPI_COMM_WORLD STOPPED)
      many = turn
      call MPI_Allreduce(many, totals, 65, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD STOPPED)
      call expect(all_of(totals == turn * ranks), 'long sum of both languages')
      small = small + 4
      others = others + 1
    end do
  end subroutine
end module

program reductions
  use counted
  implicit none
  character(16) :: what
  integer(int64) :: totals(2)
  call get_command_argument(1, what)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank STOPPED)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks STOPPED)
  call barrier(MPI_COMM_WORLD)
  if (what == 'mixed') then
    call mixed()
  else
    call every_int32(MPI_COMM_WORLD, MPI_INTEGER, 'integer')
    call every_real64(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 'double precision')
    call truths(MPI_COMM_WORLD)
    call broadcasts(MPI_COMM_WORLD)
    call parts()
    call nonblocking()
  end if
  if (what == 'all') then
    call every_int8(MPI_COMM_WORLD, MPI_INTEGER1, 'integer of 1 byte')
    call every_int16(MPI_COMM_WORLD, MPI_INTEGER2, 'integer of 2 bytes')
    call every_int32(MPI_COMM_WORLD, MPI_INTEGER4, 'integer of 4 bytes')
    call every_int64(MPI_COMM_WORLD, MPI_INTEGER8, 'integer of 8 bytes')
    call every_real32(MPI_COMM_WORLD, MPI_REAL, 'real')
    call every_real32(MPI_COMM_WORLD, MPI_REAL4, 'real of 4 bytes')
    call every_real64(MPI_COMM_WORLD, MPI_REAL8, 'real of 8 bytes')
    call bits(MPI_COMM_WORLD)
    call left_to_the_library()
  end if
  call PMPI_Reduce([small, others], totals, 2, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD STOPPED)
  if (rank == 0) print '(a, i0, a, i0)', 'small ', totals(1), ' others ', totals(2)
  call MPI_Finalize(ierr)
end program
